/** What other packages of this repository need of `console`, and programs do not. */
export { CALLBACK_PATH } from "./start-console.js";
