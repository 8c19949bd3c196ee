// @ts-check
/* Cache of names and figures of rows, fetched in small blocks when the rows come on the screen. */
import { notice } from "../shell/viewer.js";

const DELAY = 25;
const AT_ONCE = 400;

class TreeTexts {
  /**
   * @param {string} base
   * @param {() => URLSearchParams} query
   * @param {() => void} arrived
   */
  constructor(base, query, arrived) {
    this.base = base;
    this.query = query;
    this.arrived = arrived;
    this.turn = 0;
    this.timer = 0;
    /** @type {string[]} the keys of the latest call of want() */
    this.wanted = [];
    /** @type {Map<string, ProgramLine>} */
    this.texts = new Map();
    /** @type {Record<string, number>} */
    this.totals = {};
  }

  clear() {
    this.turn += 1;
    this.texts = new Map();
    this.totals = {};
  }

  /** @param {string} key */
  get(key) {
    return this.texts.get(key);
  }

  /** @param {string[]} keys */
  want(keys) {
    this.wanted = keys;
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.ask(this.wanted);
    }, DELAY);
  }

  /** @param {string[]} keys */
  async ask(keys) {
    const turn = this.turn;
    const query = this.query();
    query.set("ids", [...new Set(keys)].slice(0, AT_ONCE).join(","));
    const answer = await fetch(this.base + "rows?" + query);
    if (!answer.ok) {
      notice(await answer.text());
      return;
    }
    const data = await answer.json();
    if (turn !== this.turn) return;
    this.totals = data.totals;
    for (const row of data.rows) this.texts.set(row.key, row);
    this.arrived();
  }
}

export { TreeTexts };
