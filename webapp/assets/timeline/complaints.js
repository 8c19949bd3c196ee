// @ts-check
/* Sentences about requests that failed, at the bottom of the page. One about the drawing goes when the drawing is
   complete again, one about something else after a while. On a page that follows a program a first failure is no news:
   the file may just have been replaced, and the line in the toolbar says so, or why it cannot be read. */
import { notice } from "../shell/viewer.js";
import { shown } from "./shown.js";

const SHOWN = 10000; /* ms */

let said = "";
let timer = 0;

function say(problem) {
  said = "Host timeline: " + problem.message;
  notice(said);
  window.clearTimeout(timer);
}

function take() {
  window.clearTimeout(timer);
  if (said && document.getElementById("notice")?.textContent === said) notice("");
  said = "";
}

const isSaidBy = (live) => live && live.isUnreadable;

/* What the user asked for has failed. */
function complain(problem) {
  const live = shown.current && shown.current.live;
  if (isSaidBy(live)) return;
  if (live) live.askAgain();
  say(problem);
  timer = window.setTimeout(take, SHOWN);
}

/* Something to draw could not be fetched; it will be asked for again. */
function failed(problem) {
  const timeline = shown.current;
  if (!timeline || timeline.isOver) return;
  timeline.failures += 1;
  if (isSaidBy(timeline.live)) return;
  if (timeline.live) timeline.live.askAgain();
  if (!timeline.live || timeline.failures > 1) say(problem);
}

/* The drawing is complete. */
function complete(timeline) {
  if (!timeline.failures) return;
  timeline.failures = 0;
  take();
}

export { complain, failed, complete };
