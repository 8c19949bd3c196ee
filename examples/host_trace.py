"""Trace a small training loop on the host: channels, line graphs, a heat map, instant events, flows.

    python examples/host_trace.py [FOLDER]

writes FOLDER/<date>_<pid>.pvti (default `demo_reports/host_trace`) and prints its contents; `popvision view FOLDER`
shows it. The model is logistic regression on generated data, in NumPy; nothing runs on a simulated device.
"""

import json
import os
import sys
import threading
from pathlib import Path
from queue import Queue

import numpy as np

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_reports/host_trace")
# popvision.pvti reads this variable when it is imported; usually the shell sets it.
os.environ.setdefault("PVTI_OPTIONS", json.dumps({"enable": "true", "directory": str(FOLDER)}))

import popvision.pvti as pvti  # noqa: E402
from popvision.pva import openTrace  # noqa: E402

EPOCHS, BATCHES, BATCH = 6, 40, 256
application = pvti.createTraceChannel("application")
training = pvti.createTraceChannel("training")


class Digits:
    """Batches of two generated classes that overlap a little."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.centres = self.random.normal(0, 0.35, (2, 64))

    def __len__(self) -> int:
        return BATCHES

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray, pvti.Flow]:
        flow = pvti.Flow("batch")
        flow.step()  # the call of this method, which is instrumented, leads to ...
        labels = self.random.integers(0, 2, BATCH)
        return self.centres[labels] + self.random.normal(0, 1, (BATCH, 64)), labels, flow


def load(digits: Digits, batches: Queue) -> None:
    """Load batches ahead of training, on a thread of its own."""
    for _ in range(EPOCHS):
        for index in range(len(digits)):
            batches.put(digits[index])


@pvti.instrument_fn(training)
def step(weights: np.ndarray, inputs: np.ndarray, labels: np.ndarray, flow: pvti.Flow) -> tuple[float, float]:
    """Do one step of gradient descent; returns the loss and the accuracy in percent before it."""
    flow.step()  # ... this one
    with pvti.Tracepoint(training, "forward"):
        share = 1 / (1 + np.exp(-inputs @ weights))
        loss = -np.mean(np.log(np.where(labels, share, 1 - share) + 1e-12))
    with pvti.Tracepoint(training, "backward"):
        gradient = inputs.T @ (share - labels) / len(labels)
    with pvti.Tracepoint(training, "update"):
        weights -= 0.05 * gradient
    return float(loss), float(100 * np.mean((share > 0.5) == labels))


def train() -> None:
    loss_line = pvti.Graph("Loss").addSeries("Training")
    accuracy = pvti.Graph("Accuracy", "%")
    per_batch, per_epoch = accuracy.addSeries("Batch"), accuracy.addSeries("Epoch")
    histogram = pvti.HeatmapDouble("weights", [float(edge) for edge in range(-16, 3)], "2^x")
    digits = pvti.instrument(Digits(seed=7), ["__getitem__"], pvti.createTraceChannel("dataset"))
    batches: Queue = Queue(maxsize=4)
    threading.Thread(target=load, args=(digits, batches), name="loader").start()
    weights = np.zeros(64)
    for epoch in range(EPOCHS):
        pvti.Tracepoint.event(application, f"Epoch {epoch} begin")
        with pvti.Tracepoint(application, f"Epoch:{epoch}", {"epoch": epoch, "batches": BATCHES}):
            seen = []
            for _ in range(BATCHES):
                with pvti.Tracepoint(application, "wait for batch"):
                    inputs, labels, flow = batches.get()
                loss, correct = step(weights, inputs, labels, flow)
                loss_line.add(loss)
                per_batch.add(correct)
                histogram.add(np.abs(weights))
                seen.append(correct)
            per_epoch.add(np.mean(seen))
            print(f"Epoch {epoch}: loss {loss:.3f}, accuracy {np.mean(seen):.1f} %")


def main() -> None:
    with pvti.Tracepoint(application, "train"):
        train()
    pvti.closeTrace()
    trace = openTrace(pvti.getCurrentTraceFilename())
    for thread in trace.processes[0].threads:
        print(f"{thread.name}: {len(thread.events)} top-level events")
    epochs = [event for event in trace.processes[0].threads[0].events[0].children() if event.label.startswith("Epoch:")]
    longest = max(epochs, key=lambda event: event.duration)
    print(f"Longest epoch: {longest.label}, {longest.duration} us")
    print(pvti.getCurrentTraceFilename())


if __name__ == "__main__":
    main()
