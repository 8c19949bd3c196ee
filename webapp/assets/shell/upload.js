"use strict";
// Dropping a report on the first page, or choosing one there, sends it to this viewer and opens it.
(function () {
  const say = (text, share) => {
    const box = document.querySelector("[data-upload-status]");
    if (!box) return;
    box.textContent = text;
    box.dataset.state = share === undefined ? "" : "busy";
  };

  function send(file) {
    const request = new XMLHttpRequest();
    request.open("POST", "/data/upload?name=" + encodeURIComponent(file.name));
    request.setRequestHeader("X-Popvision", "upload");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => {
      const share = event.lengthComputable ? event.loaded / event.total : 0;
      say(share < 1 ? `Sending ${file.name}: ${Math.round(100 * share)} %` : `Unpacking ${file.name} …`, share);
    };
    request.onerror = () => say(`${file.name} could not be sent: the viewer does not answer.`);
    request.onload = () => {
      if (request.status !== 200) return say(request.responseText || `${file.name} was not taken.`);
      say("");
      const href = JSON.parse(request.responseText).href;
      if (href === location.pathname) location.reload();
      else location.assign(href);
    };
    request.send(file);
  }

  const zone = () => document.querySelector("[data-upload]");
  document.addEventListener("change", (event) => {
    if (event.target.matches && event.target.matches("#upload-file") && event.target.files[0])
      send(event.target.files[0]);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest && event.target.closest("[data-upload-choose]")) choose();
  });
  function choose() {
    let input = document.getElementById("upload-file");
    if (!input) {
      input = Object.assign(document.createElement("input"), { type: "file", id: "upload-file", hidden: true });
      input.accept = ".zip,.tar,.gz,.tgz,.pop,.pvti";
      document.body.append(input);
    }
    input.value = "";
    input.click();
  }
  document.addEventListener("dragover", (event) => {
    if (!zone() || !event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    zone().classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (zone() && !event.relatedTarget) zone().classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    if (!zone() || !event.dataTransfer.files.length) return;
    event.preventDefault();
    zone().classList.remove("dropping");
    send(event.dataTransfer.files[0]);
  });
})();
