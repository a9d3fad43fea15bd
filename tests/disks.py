"""Places where an ordinary user may do less than root, and a disk that is soon full."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of an ordinary user, and to be that user: root may write everywhere."""
    nobody = 65534 if os.geteuid() == 0 else os.geteuid()
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, nobody, -1)
    was = os.geteuid()
    os.seteuid(nobody)
    yield folder
    os.seteuid(was)
    folder.chmod(0o700)
    shutil.rmtree(folder)


@pytest.fixture
def ordinary() -> list[str]:
    """Words that start a program to which the modes of files mean something, as they mean nothing to root."""
    if os.geteuid() != 0:
        return []
    words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--inh-caps=-all"]
    if not shutil.which("setpriv") or subprocess.run([*words, "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs setpriv, to be root without the right to pass over the modes of files")
    return words


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)], check=False, capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("needs the right to mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
