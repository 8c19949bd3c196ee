// @ts-check
/* Commands: what keys do and what the command palette offers.

   commands.add({title, run, key?, group?, keys?, when?, hidden?}) returns a function that removes the
   command.

     title  what it does, as in the palette
     run    run(event) does it
     key    event.key that runs it, or "code:KeyW" for a key by position
     keys   the key as lists write it
     group  word at the right of the palette
     when   when() is false while the command is impossible
     hidden a key only, not in the palette

   commands.all() lists the commands possible now; commands.suggest(fn) adds fn(text), which makes
   commands from typed text, such as "tile 5".

   keyOf(event) is the common meaning of a key in plots: "zoom-in", "zoom-out", "left", "right" (W A S D
   by position), "next", "previous", "fit", "all", "mark", "clear", or "".

   isTyping(target) says whether keys belong to a text box. */

/** @type {Set<Command>} */
const known = new Set();
/** @type {Set<(text: string) => Command[]>} */
const suggesters = new Set();

/** @type {Record<string, string>} */
const BY_CODE = { KeyW: "zoom-in", KeyS: "zoom-out", KeyA: "left", KeyD: "right" };
/** @type {Record<string, string>} */
const BY_KEY = { ".": "next", ",": "previous", f: "fit", 0: "all", m: "mark", Escape: "clear" };

/** @param {KeyboardEvent} event */
function keyOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return "";
  return (!event.shiftKey && BY_CODE[event.code]) || BY_KEY[event.key] || "";
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** @param {Command} command */
const possible = (command) => !command.when || command.when();

/** @param {Command} command */
function add(command) {
  known.add(command);
  return () => {
    known.delete(command);
  };
}

function all() {
  return Array.from(known).filter(possible);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const inDialog = document.querySelector("dialog[open]") !== null;
  for (const command of known) {
    if (inDialog && command.key !== "?") continue;
    const hit = command.key !== undefined && (command.key === event.key || command.key === "code:" + event.code);
    if (!hit || !possible(command)) continue;
    event.preventDefault();
    command.run(event);
    return;
  }
});

const commands = {
  add,
  all,
  /** @param {(text: string) => Command[]} fn */
  suggest: (fn) => suggesters.add(fn),
  /** @param {string} text */
  suggestions: (text) => Array.from(suggesters).flatMap((fn) => fn(text)),
};

export { keyOf, isTyping, commands };
