"""Promise 9: no file makes the program run what is in it."""

import io
import json
import os
import pickle  # noqa: TID251 - what an attacker would send
import zipfile
from pathlib import Path

import numpy as np
import pytest

from classmark.formats import READERS, read_records
from classmark.problems import DamagedFolder, Mistake
from classmark.storage import MANIFEST, open_folder, save
from classmark.workbench.project import Project
from classmark.workbench.settings import FILE
from projects import new_project


class Payload:
    """Unpickled, it makes a folder."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


@pytest.fixture
def trace(tmp_path):
    """Where the payload leaves its trace; the payload is shown to be a real one."""
    proof = tmp_path / "proof"
    pickle.loads(pickle.dumps(Payload(proof)))  # noqa: S301 - so that the test can fail
    assert proof.is_dir()
    found = tmp_path / "trace"
    yield found
    assert not found.exists()


def payloads(trace):
    """The payload as it may come: plain, as an array of objects, in archives."""
    plain = pickle.dumps(Payload(trace))
    array, arrays, packed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    objects = np.array([Payload(trace)], dtype=object)
    np.save(array, objects, allow_pickle=True)
    np.savez(arrays, a=objects)
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("data.pkl", plain)
    return [plain, array.getvalue(), arrays.getvalue(), packed.getvalue()]


@pytest.mark.parametrize("name", READERS)
def test_no_reader_runs_it(trace, tmp_path, name):
    for number, payload in enumerate(payloads(trace)):
        for suffix in ("", ".zip", ".npy", ".pkl", ".jsonl", ".parquet"):
            path = tmp_path / f"{number}{suffix}"
            path.write_bytes(payload)
            try:
                list(read_records(path, name))
            except Mistake:
                continue


def test_no_saved_folder_runs_it(trace, tmp_path):
    """Even where an attacker makes the checksums right."""
    from classmark import storage

    for number, payload in enumerate(payloads(trace)):
        folder = tmp_path / f"model{number}"
        save(folder, "model", 1, {"w": np.arange(3)}, {})
        (folder / "w.npy").write_bytes(payload)
        facts = {"bytes": len(payload), "crc32": storage._crc32(folder / "w.npy")}  # noqa: SLF001
        manifest = {"format": "model", "version": 1, "files": {"w": facts}}
        text = json.dumps(manifest | {"settings": {}}).encode()
        (folder / MANIFEST).write_bytes(text + storage._seal(text))  # noqa: SLF001
        with pytest.raises(DamagedFolder):
            open_folder(folder, "model", 1)


@pytest.mark.parametrize("file", [FILE, "store.sqlite", "models/CURRENT"])
def test_no_project_runs_it(trace, tmp_path, file):
    for number, payload in enumerate(payloads(trace)):
        folder = new_project(tmp_path / f"shelf{number}")
        (folder / file).write_bytes(payload)
        with pytest.raises(Mistake), Project(folder) as project:
            project.models.current()


def test_the_program_cannot_unpickle():
    """Nothing in it imports pickle, or evaluates text, but the reader of machine code.

    That reads what this user's own process has sealed, from a folder that nobody else
    can write (tests/test_kernel_files.py).
    """
    import classmark

    sources = list(Path(classmark.__file__).parent.rglob("*.py"))
    assert len(sources) > 200
    machine_code = Path(classmark.__file__).parent / "machine_code.py"
    code = machine_code.read_text(encoding="utf-8")
    assert code.count("pickle.") == 1
    assert code.index("kernel_files.read(") < code.index("pickle.loads(code)")
    for path in set(sources) - {machine_code}:
        text = path.read_text(encoding="utf-8")
        for word in ("import pickle", "joblib.load", "allow_pickle=True", "marshal"):
            assert word not in text, path
