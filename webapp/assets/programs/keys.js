// @ts-check
/* Pointer, keys and buttons of the program tree (tree.js). */
import { closest } from "../shared/dom.js";
import { isTyping, keyOf } from "../shell/commands.js";
import { select, selection } from "../shell/viewer.js";
import { ROW } from "./line.js";

/**
 * @param {ProgramTree} tree
 * @param {KeyboardEvent} event
 */
function searchKey(tree, event) {
  const inBox = closest(event, '[data-param="pt_search"]');
  if (inBox && event.key === "Enter") {
    event.preventDefault();
    enter(tree, /** @type {HTMLInputElement} */ (event.target), event.shiftKey);
  }
  if (inBox && event.key === "ArrowDown") {
    event.preventDefault();
    tree.scroller.focus();
  }
  if (event.defaultPrevented || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const meaning = keyOf(event);
  if (meaning !== "next" && meaning !== "previous") return;
  event.preventDefault();
  tree.step(meaning === "next" ? 1 : -1);
}

/**
 * The first Enter after typing stays at the first match, to which the search goes by itself; later ones go on.
 *
 * @param {ProgramTree} tree
 * @param {HTMLInputElement} box
 * @param {boolean} back
 */
function enter(tree, box, back) {
  if (box.value !== tree.matches.text) return;
  if (tree.arrived && !back) tree.arrived = false;
  else tree.step(back ? -1 : 1);
}

/**
 * @param {ProgramTree} tree
 * @param {MouseEvent} event
 */
function click(tree, event) {
  const line = closest(event, ".tree-row");
  if (!line) return;
  const row = Number(line.dataset.row);
  if (closest(event, ".tree-fold")) tree.fold(row, !tree.rows.isClosed(row));
  else tree.choose(row);
}

/**
 * @param {ProgramTree} tree
 * @param {KeyboardEvent} event
 */
function key(tree, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !tree.shown.length) return;
  const page = Math.max(1, Math.floor(tree.scroller.clientHeight / ROW) - 2);
  /** @type {Record<string, number>} */
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
  if (event.key in moves) tree.moveBy(moves[event.key]);
  else if (event.key === "ArrowRight") right(tree);
  else if (event.key === "ArrowLeft") left(tree);
  else if (event.key === "Enter" || event.key === " ") tree.choose(tree.cursor);
  else if (event.key === "*") tree.openBelow(tree.cursor);
  else if (event.key === "n" || event.key === "N") tree.step(event.key === "n" ? 1 : -1);
  else if (event.key === "f") tree.moveTo(Math.max(0, tree.rows.rowOf(Number(selection().program))), true);
  else if (event.key === "Escape") select({ program: null });
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** @param {ProgramTree} tree */
function right(tree) {
  if (!tree.rows.isParent(tree.cursor)) return;
  if (tree.rows.isClosed(tree.cursor)) tree.fold(tree.cursor, false);
  else tree.moveTo(tree.cursor + 1, false);
}

/** @param {ProgramTree} tree */
function left(tree) {
  if (tree.rows.isParent(tree.cursor) && !tree.rows.isClosed(tree.cursor)) {
    tree.fold(tree.cursor, true);
    return;
  }
  const up = tree.rows.parentOf(tree.cursor);
  if (up >= 0) tree.moveTo(up, false);
}

/**
 * @param {ProgramTree} tree
 * @param {MouseEvent} event
 */
function command(tree, event) {
  const button = closest(event, "[data-tree]");
  if (button && tree.rows.n) {
    const what = button.dataset.tree;
    if (what === "next" || what === "previous") tree.step(what === "next" ? 1 : -1);
    else tree.foldTo(what === "open" ? Infinity : Number(button.dataset.depth));
    return;
  }
  const root = closest(event, "[data-root-id]");
  if (root) select({ pt_root: root.dataset.rootId, pt_fold: null });
}
const treeKeys = { searchKey, click, key, command };

export { treeKeys };
