/** Style sheets are taken along by the bundler; nothing of them is seen in code. */
declare module "*.css";
