// @ts-check
/* Rows of the Steps table: a click or Enter selects the step of the row; the focus stays in the table. Links to the
   tiles that limit a step list them in the table of the Details tab. */
import { closest } from "../shared/dom.js";
import { gridOf } from "../shared/table.js";
import { select } from "../shell/viewer.js";
import { traces } from "./shown.js";

/** @param {Event} event */
function selectRow(event) {
  const row = closest(event, ".trace-steps .ag-center-cols-container .ag-row");
  const trace = traces.current;
  if (!row || !trace) return;
  const api = gridOf(/** @type {HTMLElement} */ (row.closest(".table")));
  const node = api && api.getDisplayedRowAtIndex(Number(row.getAttribute("row-index")));
  if (!node || !node.data) return; /* still loading */
  if (event instanceof KeyboardEvent) {
    event.preventDefault();
    event.stopPropagation();
    node.setSelected(true, true);
  }
  /** @type {{ step: number | null, target_step?: number | null }} */
  const { step, target_step: theirs } = node.data;
  if (typeof step === "number") trace.selectRow(step, trace.on);
  else if (typeof theirs === "number") select({ step: null, tstep: theirs });
}

document.addEventListener("click", selectRow);
document.addEventListener(
  "keydown",
  (event) => {
    if (event.key === "Enter") selectRow(event);
  },
  true,
);

document.addEventListener("click", (event) => {
  const link = closest(event, "a[data-among]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  select({ among: link.dataset.among || null, detail: "details" });
});
