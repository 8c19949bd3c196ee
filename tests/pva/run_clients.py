"""Runs every client script as a user does, with `import pva` alone, and prints what each returns as JSON."""

import importlib.util
import json
import sys
from pathlib import Path

found = {}
for path in sorted((Path(__file__).parent / "clients").glob("*.py")):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found[path.stem] = module.main(sys.argv[3]) if path.stem == "host_trace" else module.main(*sys.argv[1:3])
print(json.dumps(found))
