/** Plots figures over time as text. */

const WIDTH = 60;
const HEIGHT = 8;

/** `points` are `[x, y]` pairs, in the order of x. The y axis begins at 0: a flat line looks flat. */
export function plot(points, { title, unit = "", xUnit = "" }) {
  const maxX = Math.max(...points.map(([x]) => x));
  const maxY = niceCeiling(Math.max(...points.map(([, y]) => y)));
  const columns = Array.from({ length: WIDTH }, () => []);
  for (const [x, y] of points) columns[Math.min(WIDTH - 1, Math.floor((x / (maxX || 1)) * WIDTH))].push(y);
  const heights = columns.map((values) =>
    values.length === 0 ? undefined : Math.round(((HEIGHT - 1) * average(values)) / (maxY || 1)),
  );
  const lines = Array.from({ length: HEIGHT }, (_, row) => {
    const level = HEIGHT - 1 - row;
    const label = row === 0 ? String(maxY) : row === HEIGHT - 1 ? "0" : "";
    return `${label.padStart(6)} |${heights.map((height) => (height === level ? "*" : " ")).join("")}`.trimEnd();
  });
  const end = `${Math.round(maxX * 10) / 10} ${xUnit}`.trim();
  return [
    `${title}${unit === "" ? "" : ` (${unit})`}`,
    ...lines,
    `${" ".repeat(7)}+${"-".repeat(WIDTH)}`,
    `${" ".repeat(8)}0${end.padStart(WIDTH - 1)}`,
  ].join("\n");
}

const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The next 1, 2 or 5 times a power of ten. */
function niceCeiling(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}
