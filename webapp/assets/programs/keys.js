/* What pointer, keys and buttons do in the program tree: methods of ProgramTree (tree.js). */
(function () {
  "use strict";

  const treeKeys = {
    searchKey(event) {
      const inBox = event.target.closest && event.target.closest('[data-param="pt_search"]');
      if (inBox && event.key === "Enter") {
        event.preventDefault();
        this.step(event.shiftKey ? -1 : 1);
      }
      if (inBox && event.key === "ArrowDown") {
        event.preventDefault();
        this.scroller.focus();
      }
      if (event.defaultPrevented || window.popvision.isTyping(event.target) || document.querySelector("dialog[open]"))
        return;
      const meaning = window.popvision.keyOf(event);
      if (meaning !== "next" && meaning !== "previous") return;
      event.preventDefault();
      this.step(meaning === "next" ? 1 : -1);
    },

    click(event) {
      const line = event.target.closest(".tree-row");
      if (!line) return;
      const row = Number(line.dataset.row);
      if (event.target.closest(".tree-fold")) this.fold(row, !this.rows.isClosed(row));
      else this.choose(row);
    },

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.shown) return;
      const page = Math.max(1, Math.floor(this.scroller.clientHeight / window.popvisionTree.ROW) - 2);
      const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
      if (event.key in moves) this.moveBy(moves[event.key]);
      else if (event.key === "ArrowRight") this.right();
      else if (event.key === "ArrowLeft") this.left();
      else if (event.key === "Enter" || event.key === " ") this.choose(this.cursor);
      else if (event.key === "*") this.openBelow(this.cursor);
      else if (event.key === "n" || event.key === "N") this.step(event.key === "n" ? 1 : -1);
      else if (event.key === "f")
        this.moveTo(Math.max(0, this.rows.rowOf(Number(window.popvision.selection().program))), true);
      else if (event.key === "Escape") window.popvision.select({ program: null });
      else return;
      event.preventDefault();
      event.stopPropagation();
    },

    right() {
      if (!this.rows.isParent(this.cursor)) return;
      if (this.rows.isClosed(this.cursor)) this.fold(this.cursor, false);
      else this.moveTo(this.cursor + 1, false);
    },

    left() {
      if (this.rows.isParent(this.cursor) && !this.rows.isClosed(this.cursor)) {
        this.fold(this.cursor, true);
        return;
      }
      const up = this.rows.parentOf(this.cursor);
      if (up >= 0) this.moveTo(up, false);
    },

    command(event) {
      const button = event.target.closest("[data-tree]");
      if (button && this.rows) {
        const what = button.dataset.tree;
        if (what === "next" || what === "previous") this.step(what === "next" ? 1 : -1);
        else this.foldTo(what === "open" ? Infinity : Number(button.dataset.depth));
        return;
      }
      const root = event.target.closest("[data-root-id]");
      if (root) window.popvision.select({ pt_root: root.dataset.rootId, pt_fold: null });
    },
  };

  window.popvisionTree = Object.assign(window.popvisionTree || {}, { treeKeys });
})();
