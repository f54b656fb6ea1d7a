"""Promise 13: hostile uploads take no memory."""

import subprocess
import sys

from workbench.files.hostile_files import HOSTILE

MEASURED = """
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from starlette.testclient import TestClient
from classmark.web.serve import create_app
from classmark.workbench.team.desk import Desk

folder, made = map(Path, sys.argv[1:])
with Desk(folder) as desk:
    app = create_app(desk)
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        client.post("/enter", data={"code": app.state.doors.code})
        session = app.state.sessions.find(client.cookies[app.state.doors.cookie])
        client.headers["X-CSRF"] = session.csrf

        def send(name, path):
            head = b'--x\\r\\nContent-Disposition: form-data; name="file"; filename="'
            def body():
                yield head + name.encode() + b'"\\r\\n\\r\\n'
                with path.open("rb") as file:
                    while piece := file.read(1 << 16):
                        yield piece
                yield b"\\r\\n--x--\\r\\n"
            kind = {"Content-Type": "multipart/form-data; boundary=x"}
            return client.post("/files/upload", content=body(), headers=kind)

        small = made / "small"
        small.write_bytes(b'{"id": "s", "text": "honey"}')
        assert send("small.jsonl", small).status_code == 200
        before = getrusage(RUSAGE_SELF).ru_maxrss
        for path in sorted(made.iterdir()):
            if path != small:
                status = send(path.name, path).status_code
                grown = (getrusage(RUSAGE_SELF).ru_maxrss - before) // 1024
                print(path.name, status, grown)
"""


def test_hostile_files_take_no_memory(project_folder, tmp_path):
    """Whatever is sent, the process grows by less than 100 MB."""
    made = tmp_path / "made"
    made.mkdir()
    for name, make in HOSTILE.items():
        make(made / name)
    output = subprocess.run(  # noqa: S603 - this very interpreter
        [sys.executable, "-c", MEASURED, str(project_folder), str(made)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout
    rows = [line.split() for line in output.splitlines()]
    assert {row[0] for row in rows} == set(HOSTILE)
    assert {row[1] for row in rows} == {"400"}
    assert max(int(row[2]) for row in rows) < 100, output
