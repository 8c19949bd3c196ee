// @ts-check
/* Matches of the search: the toolbar says which of them is selected, or what is wrong with the text. */
import { fetchJson } from "../shared/packed.js";
import { selection } from "../shell/viewer.js";
import { eventKey } from "./shown.js";
import { slot } from "./toolbar.js";

class Matches {
  constructor(timeline) {
    this.timeline = timeline;
    /** @type {string | undefined} what is searched for; undefined until the address was read */
    this.text = undefined;
    /** @type {string | undefined} the event whose rank the toolbar says */
    this.ranked = undefined;
    this.asked = 0; /* questions; an answer to an older one comes too late */
    /** @type {string | undefined} the text that is no filter */
    this.refused = undefined;
    /** @type {Promise<any>} the answer to the last question */
    this.answered = Promise.resolve();
  }

  /* The text of the box and the selected event, `at`, of the address. A new text selects its first match, but where
     the page opens with an event or a window, that stays, as does an event that is selected otherwise. */
  search(text, at) {
    const opens = this.text === undefined;
    const isNew = text !== this.text;
    this.text = text;
    if (!text) {
      this.asked += 1;
      this.ranked = at;
      this.say("", "");
    } else if (isNew && !(opens && (at || this.timeline.wantedWindow))) this.find(false, true);
    else if (isNew || at !== this.ranked) this.rank(at);
  }

  /* What stands beside the search box: how many matches, or what is wrong with the text. */
  say(matches, problem) {
    const [count, sentence] = [slot("matches"), slot("problem")];
    if (count) {
      count.textContent = matches;
      count.setAttribute("title", matches);
    }
    if (sentence) sentence.textContent = problem;
  }

  /* Whether the server has refused a text, once it has answered: then all events are drawn. */
  async hasRefused(text) {
    if (!text) return false;
    await this.answered;
    return text === this.refused;
  }

  /* Ask for a match and say its rank, or only the number where `isRanked` is false of it; null when the text was
     refused or another question followed. */
  ask(query, isRanked) {
    const answer = this.answer(query, isRanked);
    this.answered = answer;
    return answer;
  }

  async answer(query, isRanked) {
    const asked = (this.asked += 1);
    const text = encodeURIComponent(this.text || "");
    try {
      const hit = await fetchJson(`/data/${this.timeline.facts.key}/timeline/find?text=${text}&${query}`);
      if (asked !== this.asked) return null;
      const all = (hit.matches || 0).toLocaleString("en-US");
      if (!hit.matches) this.say("no match", "");
      else if (isRanked(hit)) this.say(hit.rank.toLocaleString("en-US") + " of " + all, "");
      else this.say(all + (hit.matches === 1 ? " match" : " matches"), "");
      return hit;
    } catch (problem) {
      if (asked !== this.asked) return null;
      this.say("", problem.message);
      if (problem.status === 400) this.refuse();
      return null;
    }
  }

  refuse() {
    this.refused = this.text;
    if (this.timeline.only !== this.text) return;
    this.timeline.only = "";
    this.timeline.schedule();
  }

  /* The next or previous match; `fresh` starts at the left edge of the window. */
  async find(back, fresh) {
    if (!this.text) return;
    const { chosen, viewport } = this.timeline;
    const from =
      chosen && !fresh
        ? `time=${Math.round(chosen.start)}&at=${eventKey(chosen)}`
        : `time=${Math.max(0, Math.floor(viewport.width ? viewport.from : 0))}`;
    const hit = await this.ask(from + (back ? "&back=1" : ""), () => true);
    if (!hit) return;
    this.ranked = hit.matches ? eventKey(hit) : undefined;
    if (hit.matches) this.timeline.revealMatch(hit);
    else this.timeline.choose(null);
  }

  /* The trace has grown. */
  countAgain() {
    if (this.text && this.text !== this.refused) this.rank(selection().tl_event);
  }

  /* Say which match the event `at` is; without one, how many there are. */
  rank(at) {
    this.ranked = at;
    return this.ask(at ? `time=0&here=1&at=${at}` : "time=0", (hit) => eventKey(hit) === at);
  }
}

export { Matches };
