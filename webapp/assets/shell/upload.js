// @ts-check
/* Reports dropped on the first page, or chosen there, are sent to this viewer and opened. */
import { closest } from "../shared/dom.js";

const zone = () => document.querySelector("[data-upload]");

/**
 * @param {string} text
 * @param {boolean} [busy] the transfer goes on
 */
function say(text, busy) {
  const box = document.querySelector("[data-upload-status]");
  if (!(box instanceof HTMLElement)) return;
  box.textContent = text;
  box.dataset.state = busy ? "busy" : "";
}

/**
 * @param {File} file
 * @returns {Promise<string>} the address of what was sent, "" where the viewer refused it
 */
function send(file) {
  const request = new XMLHttpRequest();
  request.open("POST", "/data/upload?name=" + encodeURIComponent(file.name));
  request.setRequestHeader("X-Popvision", "upload");
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.upload.onprogress = (event) => {
    const share = event.lengthComputable ? event.loaded / event.total : 0;
    say(share < 1 ? `Sending ${file.name}: ${Math.round(100 * share)} %` : `Unpacking ${file.name} …`, true);
  };
  return new Promise((done) => {
    request.onerror = () => {
      say(`${file.name} could not be sent: the viewer does not answer.`);
      done("");
    };
    request.onload = () => {
      const isTaken = request.status === 200;
      say(isTaken ? "" : request.responseText || `The viewer refused ${file.name}.`);
      done(isTaken ? JSON.parse(request.responseText).href : "");
    };
    request.send(file);
  });
}

/**
 * One file is opened; of several the list shows all. The first one that is refused ends it, with its sentence.
 * @param {File[]} files
 */
async function sendAll(files) {
  let href = "";
  for (const file of files) {
    href = await send(file);
    if (!href) return;
  }
  if (files.length > 1) href = "/";
  if (href === location.pathname) location.reload();
  else location.assign(href);
}

function choose() {
  const existing = document.getElementById("upload-file");
  const input = existing instanceof HTMLInputElement ? existing : document.createElement("input");
  if (!input.isConnected) {
    Object.assign(input, { type: "file", id: "upload-file", hidden: true, multiple: true });
    document.body.append(input);
  }
  input.value = "";
  input.click();
}

document.addEventListener("change", (event) => {
  const input = event.target;
  if (input instanceof HTMLInputElement && input.id === "upload-file" && input.files && input.files[0])
    sendAll([...input.files]);
});

document.addEventListener("click", (event) => {
  if (closest(event, "[data-upload-choose]")) choose();
});

document.addEventListener("dragover", (event) => {
  const place = zone();
  if (!place || !event.dataTransfer || !event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  place.classList.add("dropping");
});

document.addEventListener("dragleave", (event) => {
  const place = zone();
  if (place && !event.relatedTarget) place.classList.remove("dropping");
});

document.addEventListener("drop", (event) => {
  const place = zone();
  if (!place || !event.dataTransfer || !event.dataTransfer.files.length) return;
  event.preventDefault();
  place.classList.remove("dropping");
  sendAll([...event.dataTransfer.files]);
});
