// @ts-check
/* What a row or a point chosen in the tables and plots beside the timeline does to it. */
import { gridOf } from "../shared/table.js";
import { shown } from "./shown.js";

/* No row of a table stays selected. */
function release(table) {
  const box = document.querySelector('.table[data-table="' + table + '"]');
  const grid = box instanceof HTMLElement ? gridOf(box) : null;
  if (grid) grid.deselectAll();
}

const callbacks = {
  /* A row chosen in the statistics. */
  labels: (chosen) => {
    const row = (chosen || []).flat().find((each) => each);
    if (row && shown.current) {
      shown.current.chooseLabel(row.name);
      release("statistics"); /* so that the same row can be chosen again */
    }
    return window.dash_clientside.no_update;
  },
  /* A row chosen in the list of matches. */
  matches: (chosen) => {
    const row = (chosen || []).flat().find((each) => each);
    if (row && row.event && shown.current) shown.current.openMatch(row.event);
    return window.dash_clientside.no_update;
  },
  /* A point clicked in the occurrences of a label. */
  occurrence: (clicked) => {
    const event = (clicked || []).flatMap((each) => each?.points || []).map((each) => each.customdata)[0];
    if (event && shown.current) shown.current.openMatch(event);
    return window.dash_clientside.no_update;
  },
};

export { callbacks };
