// @ts-check
/* One row of the program tree as an element: fold mark, step colour, names, figures. */
import * as table from "../shared/table.js";
import { selection } from "../shell/viewer.js";

const ROW = 22;

/**
 * @param {string} tag
 * @param {string} className
 * @param {string} [text]
 */
function make(tag, className, text) {
  const element = document.createElement(tag);
  element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * @param {unknown} value
 * @returns {value is number}
 */
const known = (value) => typeof value === "number";

/**
 * @param {ProgramColumn} column
 * @param {ProgramLine | undefined} text
 * @param {Record<string, number>} totals
 */
function cellElement({ field, kind, share: formula, unknown }, text, totals) {
  const value = text ? text[field] : undefined;
  const cell = make("div", "tree-cell tree-" + field, text ? table.format(value, kind) : "");
  cell.setAttribute("role", "gridcell");
  if (!text) return cell;
  if (value === 0) cell.classList.add("zero");
  if (!known(value)) {
    cell.title = unknown || "Not recorded in this report";
    return cell;
  }
  const total = totals[field];
  const share = total > 0 && formula ? (100 * value) / total : null;
  const unit = kind === "bytes" ? " B" : kind === "cycles" ? " cycles" : "";
  cell.title =
    value.toLocaleString("en-US") + unit + (share === null ? "" : "; " + share.toFixed(2) + " % = " + formula);
  if (share !== null) cell.style.setProperty("--share", Math.min(100, share).toFixed(2) + "%");
  if (field === "self" && text.guess) {
    cell.classList.add("guess");
    cell.title += ". Partly a guess: a codelet of this compute set gives no estimate";
  }
  return cell;
}

/**
 * Source, target, difference and relative change of one figure.
 *
 * @param {ProgramColumn} column
 * @param {ProgramLine | undefined} text
 */
function differenceCells({ field, kind }, text) {
  /**
   * @param {string} name
   * @param {string} shown
   */
  const cell = (name, shown) => {
    const element = make("div", "tree-cell tree-" + name, shown);
    element.setAttribute("role", "gridcell");
    return element;
  };
  if (!text) return ["source", "target", "difference", "change"].map((name) => cell(name, ""));
  const format = table.format;
  const before = text.source ? text.source[field] : null;
  const after = text.target ? text.target[field] : null;
  const both = known(before) && known(after);
  const difference = both ? after - before : null;
  const change = difference === null ? null : before ? difference / before : difference ? null : 0;
  const cells = [
    cell("source", format(before, kind)),
    cell("target", format(after, kind)),
    cell("difference", format(difference, "signed" + (kind === "integer" ? "" : "_" + kind))),
    cell("change", format(change, "signed_percent")),
  ];
  cells[2].title = "target - source";
  if (!known(before)) cells[0].title = "not recorded in the source";
  if (!known(after)) cells[1].title = "not recorded in the target";
  cells[3].title = "(target - source) / source";
  for (const element of cells.slice(2)) {
    if (difference !== null && difference !== 0) element.classList.add(difference > 0 ? "diff-more" : "diff-less");
    if (difference === 0) element.classList.add("zero");
  }
  return cells;
}

/**
 * @param {ProgramTree} tree
 * @param {number} row
 * @param {ProgramLine | undefined} text
 */
function nameElement(tree, row, text) {
  const { rows, types, families } = tree;
  const name = make("div", "tree-name");
  name.setAttribute("role", "gridcell");
  name.style.paddingLeft = Math.min(rows.depth[row], 40) * 14 + "px";
  const fold = make("span", rows.isParent(row) ? "tree-fold" + (rows.isClosed(row) ? "" : " open") : "tree-leaf");
  const type = types[rows.type[row]];
  name.append(fold, make("span", "tree-bar step-" + families[rows.type[row]]), make("span", "tree-type", type));
  if (!text) return name;
  const side = rows.side(row);
  if (side) name.append(make("span", "tree-side", side === 1 ? "only in the source" : "only in the target"));
  if (text.note) name.append(make("span", "tree-note", text.note));
  if (text.name) name.append(make("span", "tree-label path", text.name));
  name.append(make("span", "tree-id", (side === 2 ? "target #" : "#") + text.id));
  name.title = type + (text.name ? " (" + text.name + ")" : "") + ", Id " + text.id;
  return name;
}

/**
 * @param {ProgramTree} tree
 * @param {number} row
 * @param {number} at
 */
function lineElement(tree, row, at) {
  const { rows } = tree;
  const text = tree.texts.get(rows.key(row));
  const selected = rows.side(row) !== 2 && String(rows.program[row]) === selection().program;
  const line = make("div", "tree-row");
  line.id = "tree-row-" + row;
  line.style.top = at * ROW + "px";
  line.dataset.row = String(row);
  line.setAttribute("role", "row");
  line.setAttribute("aria-rowindex", String(at + 2));
  line.setAttribute("aria-level", String(rows.depth[row] + 1));
  line.setAttribute("aria-selected", selected ? "true" : "false");
  if (rows.isParent(row)) line.setAttribute("aria-expanded", rows.isClosed(row) ? "false" : "true");
  if (row === tree.cursor) line.classList.add("cursor");
  if (selected) line.classList.add("selected");
  else if (rows.side(row) !== 2 && tree.related.has(rows.program[row])) line.classList.add("related");
  if (rows.side(row)) line.classList.add(rows.side(row) === 1 ? "only-source" : "only-target");
  if (tree.matches.has(row)) line.classList.add("found");
  const cells = rows.other
    ? differenceCells(tree.metric(), text)
    : tree.columns.map((column) => cellElement(column, text, tree.texts.totals));
  line.append(nameElement(tree, row, text), ...cells);
  return line;
}

export { lineElement, ROW };
