// @ts-check
/* Number formats, theme, filter box, row count and export for webapp/components/table.py. */
import { recall, remember } from "../shell/viewer.js";
import * as dom from "./dom.js";
import { bytesText, cyclesText } from "./formats.js";

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const decimal = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** @type {Record<string, (value: number) => string>} */
const FORMATS = {
  integer: (value) => grouped.format(value),
  cycles: (value) => cyclesText(value),
  bytes: (value) => bytesText(value),
  us: (value) => grouped.format(value),
  decimal: (value) => decimal.format(value),
  number: (value) => (Number.isInteger(value) ? grouped.format(value) : decimal.format(value)),
  percent: (value) => decimal.format(100 * value) + " %",
  signed: (value) => signed(value, (size) => grouped.format(size)),
  signed_bytes: (value) => signed(value, (size) => bytesText(size)),
  signed_cycles: (value) => signed(value, (size) => cyclesText(size)),
  signed_decimal: (value) => signed(value, (size) => decimal.format(size)),
  signed_points: (value) => signed(value, (size) => decimal.format(100 * size) + " pp"),
  signed_percent: (value) => signed(value, (size) => decimal.format(100 * size) + " %"),
};
/** @type {Record<string, string>} */
const UNITS = { bytes: "bytes", cycles: "cycles", signed_bytes: "bytes", signed_cycles: "cycles" };

/**
 * @param {any} value
 * @param {(size: number) => string} text
 */
function signed(value, text) {
  return (value > 0 ? "+" : value < 0 ? "\u2212" : "") + text(Math.abs(value));
}

/**
 * @param {any} value
 * @param {string} kind
 */
function format(value, kind) {
  if (value === null || value === undefined || value === "" || Number.isNaN(value)) return "\u2013";
  return (FORMATS[kind] || String)(value);
}

/**
 * How strongly a difference is coloured: by the ratio of the two figures, fully at twice or half. The relative change
 * stands in the column <field>_rel beside <field>_diff; without one a difference is coloured fully.
 *
 * @param {any} params
 */
function differenceStyle(params) {
  const value = params.value;
  if (typeof value !== "number" || value === 0) return { "--diff-strength": "0%" };
  const field = params.colDef.field;
  const share = field.endsWith("_rel") ? value : (params.data || {})[field.replace(/_diff$/, "_rel")];
  const ratio = typeof share === "number" ? 1 + share : 0;
  const strength = ratio > 0 ? Math.min(1, Math.abs(Math.log2(ratio))) : 1;
  return { "--diff-strength": Math.round(15 + 85 * strength) + "%" };
}

/**
 * Tooltip of a number that is shown rounded or as time: its exact value; of a dash the reason for it.
 *
 * @param {any} value
 * @param {string} kind
 * @param {string} missing
 */
function exact(value, kind, missing) {
  if (typeof value !== "number") return missing || null;
  if (!UNITS[kind]) return null;
  const text = grouped.format(value) + (UNITS[kind] === "bytes" ? " B" : " cycles");
  return text === format(value, kind) ? null : text;
}

/** @param {any} base */
function gridTheme(base) {
  return base.withParams({
    fontFamily: "inherit",
    fontSize: 12,
    headerFontSize: 12,
    headerFontWeight: 600,
    backgroundColor: "var(--surface)",
    foregroundColor: "var(--ink)",
    headerBackgroundColor: "var(--surface)",
    headerTextColor: "var(--muted)",
    borderColor: "var(--line)",
    rowHoverColor: "var(--hover)",
    selectedRowBackgroundColor: "var(--chosen)",
    accentColor: "var(--accent)",
    oddRowBackgroundColor: "var(--surface)",
    menuBackgroundColor: "var(--raised)",
    wrapperBorder: false,
    wrapperBorderRadius: 0,
    cellHorizontalPadding: 10,
    iconSize: 12,
    browserColorScheme: "inherit",
  });
}

const gridFunctions = {
  /* a row that the server still reads has no data yet: not the dash of a figure that is unknown */
  popvisionFormat: (/** @type {any} */ value, /** @type {string} */ kind, /** @type {any} */ row) =>
    row === undefined ? "\u2026" : format(value, kind),
  popvisionExact: exact,
  popvisionDifferenceStyle: differenceStyle,
  popvisionGridTheme: gridTheme,
};

/* ---- the bar above a table ---- */

/** @param {HTMLElement} box */
function apiOf(box) {
  const grid = box.querySelector(".table-grid > *");
  if (!grid || !window.dash_ag_grid) return null;
  let id = grid.id;
  if (id.startsWith("{")) id = JSON.parse(id);
  try {
    return window.dash_ag_grid.getApi(id);
  } catch (_) {
    return null;
  }
}

/**
 * Whether the server has not yet said how many rows there are; the grid counts one until then.
 *
 * @param {any} api
 */
const isLoading = (api) => api.getGridOption("rowModelType") === "infinite" && api.isLastRowIndexKnown() !== true;

/** @param {HTMLElement} box */
function count(box) {
  const place = box.querySelector("[data-row-count]");
  const api = apiOf(box);
  if (!place || !api) return;
  const shown = api.getDisplayedRowCount();
  let all = 0;
  if (api.getGridOption("rowModelType") === "infinite") all = shown;
  else
    api.forEachNode(() => {
      all += 1;
    });
  const text = isLoading(api)
    ? "Loading …"
    : shown === all
      ? grouped.format(all) + (all === 1 ? " row" : " rows")
      : grouped.format(shown) + " of " + grouped.format(all) + " rows";
  if (place.textContent !== text) place.textContent = text;
  sayEmpty(box, api, shown, all);
}

/**
 * A sentence in the place of rows where there are none: that no row passes the filter, else what this table lacks.
 *
 * @param {HTMLElement} box
 * @param {any} api
 * @param {number} shown
 * @param {number} all
 */
function sayEmpty(box, api, shown, all) {
  const isFiltered = all > 0 || api.isAnyFilterPresent();
  const said = box.querySelector(".table-empty");
  if (shown > 0 || isLoading(api)) {
    if (said) said.remove();
    return;
  }
  const text = isFiltered ? "No row passes the filter: change or clear it." : box.dataset.empty || "";
  const place = said || document.createElement("div");
  place.className = "table-empty";
  place.setAttribute("role", "status");
  if (place.textContent !== text) place.textContent = text;
  if (!said) /** @type {HTMLElement} */ (box.querySelector(".table-grid")).append(place);
}

/**
 * Columns are as wide as the user drew them the last time, in every table of this name; the others share the rest.
 *
 * @param {HTMLElement} box
 * @param {any} api
 */
function keepWidths(box, api) {
  const name = "popvision.widths." + (box.dataset.table || "").replace(/\d+/g, "#");
  /** @type {Record<string, number>} */
  let widths = {};
  try {
    widths = JSON.parse(recall(name) || "{}");
  } catch (_) {
    /* none */
  }
  const known = api.getColumns() || [];
  const state = known
    .map((/** @type {any} */ column) => ({ colId: column.getColId(), width: widths[column.getColId()], flex: null }))
    .filter((/** @type {any} */ column) => typeof column.width === "number" && column.width > 0);
  if (state.length) api.applyColumnState({ state });
  api.addEventListener("columnResized", (/** @type {any} */ event) => {
    if (!event.finished || !event.source.startsWith("ui") || !event.column) return;
    widths[event.column.getColId()] = event.column.getActualWidth();
    remember(name, JSON.stringify(widths));
  });
}

/** @param {HTMLElement} box */
function watch(box) {
  const api = apiOf(box);
  if (!api || box.dataset.watched === "yes") return;
  box.dataset.watched = "yes";
  api.addEventListener("modelUpdated", () => count(box));
  count(box);
  keepWidths(box, api);
}

new MutationObserver(() => dom.all(".table[data-table]").forEach(watch)).observe(document, {
  childList: true,
  subtree: true,
});

document.addEventListener("input", (event) => {
  const filter = dom.closest(event, "[data-quick-filter]");
  if (!filter) return;
  const table = /** @type {HTMLElement} */ (filter.closest(".table"));
  const api = apiOf(table);
  if (api) api.setGridOption("quickFilterText", /** @type {HTMLInputElement} */ (event.target).value);
});

/**
 * The name of an exported column says its unit: plain bytes and cycles, whatever unit is on the screen.
 *
 * @param {any} definition
 */
function exportName(definition) {
  const unit = definition.context && UNITS[definition.context.kind];
  return unit && !definition.field.toLowerCase().includes(unit) ? definition.field + "_" + unit : definition.field;
}

/** @param {any} api */
function rowsOf(api) {
  /** @type {any[]} */
  const displayed = api.getAllDisplayedColumns();
  const columns = displayed.map((column) => column.getColDef());
  /** @type {Record<string, unknown>[]} */
  const rows = [];
  api.forEachNodeAfterFilterAndSort((/** @type {any} */ node) => {
    if (node.data)
      rows.push(
        Object.fromEntries(
          columns.map((each) => [exportName(each), node.data[each.field] === undefined ? null : node.data[each.field]]),
        ),
      );
  });
  return rows;
}

/**
 * A text that begins like a formula is text in a spreadsheet only behind an apostrophe; numbers are left alone. The
 * same rule as popvision/export/cells.py.
 *
 * @param {any} value
 */
function csvCell(value) {
  if (value === null) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(value) ? "'" + value : String(value);
  return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

/** @param {Record<string, any>[]} rows */
function toCsv(rows) {
  if (!rows.length) return "";
  const fields = Object.keys(rows[0]);
  return (
    [fields.map(csvCell).join(","), ...rows.map((row) => fields.map((field) => csvCell(row[field])).join(","))].join(
      "\r\n",
    ) + "\r\n"
  );
}

document.addEventListener("click", (event) => {
  const button = dom.closest(event, "[data-export]");
  if (!button) return;
  const box = /** @type {HTMLElement} */ (button.closest(".table"));
  const api = apiOf(box);
  if (!api) return;
  const rows = rowsOf(api);
  const kind = button.dataset.export;
  const text = kind === "csv" ? toCsv(rows) : JSON.stringify(rows, null, 1);
  const type = kind === "csv" ? "text/csv" : "application/json";
  dom.download(new Blob([text], { type }), box.dataset.table + "." + kind);
});

export { format, toCsv, apiOf as gridOf, gridFunctions };
