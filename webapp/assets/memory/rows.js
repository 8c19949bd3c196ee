// @ts-check
/* A row of a table of the memory page selects its tile, variable or index for every view. */
import { select } from "../shell/viewer.js";

const choose = (key, id) => () => {
  const cells = window.dash_clientside.callback_context.triggered.map((each) => each.value).filter(Boolean);
  const row = cells.length ? cells[0][0] : null;
  const value = row ? id(row) : null;
  if (value !== null && value !== undefined && value >= 0) select({ [key]: value });
  return window.dash_clientside.no_update;
};

const callbacks = {
  tile: choose("tiles", (row) => row.tile),
  variable: choose("variable", (row) => row.variable),
  program: choose("program", (row) => row.program),
};

export { callbacks };
