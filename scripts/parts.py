"""The parts of a machine that pip cannot bring: which are missing, and how they get here.

As root on Debian and its kin, missing parts are installed by apt-get after the exact line was printed;
COUNTERMARK_NO_APT=1 opts out. Elsewhere the packages are named. A part that `make demo` needs stops the set-up when it
cannot be had; one that only some tests need does not: those tests report it `unavailable`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

Say = Callable[[str], None]
Stop = Callable[[str], NoReturn]

OPTIONS: Final = ("-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3")
TRIES: Final = 3
PAUSE: Final = 5.0


@dataclass(frozen=True)
class Part:
    """One part: what it is called here, how it is looked for, and what Debian calls it."""

    name: str
    programs: tuple[str, ...] = ()
    imports: str = ""
    files: tuple[str, ...] = ()
    debian: tuple[str, ...] = ()
    elsewhere: str = ""
    needed: bool = False
    linux_only: bool = False

    def present(self, python: Path) -> bool:
        """Look for the part: a program on PATH, a file, or an import that must succeed in .venv."""
        if self.imports:
            argv = [str(python), "-I", "-c", f"import {self.imports}"]
            return subprocess.run(argv, capture_output=True, check=False).returncode == 0
        return any(shutil.which(program) for program in self.programs) or any(
            Path(file).exists() for file in self.files
        )


SKIA: Final = Part(
    "the libraries that Skia links (libGL.so.1, libEGL.so.1)",
    imports="skia",
    debian=("libgl1", "libegl1"),
    elsewhere="Fedora: libglvnd-glx libglvnd-egl; Arch: libglvnd; openSUSE: Mesa-libGL1 Mesa-libEGL1",
    needed=True,
    linux_only=True,
)
DRIVER: Final = Part(
    "the library that Playwright's driver links (libatomic.so.1)",
    files=(
        "/usr/lib/x86_64-linux-gnu/libatomic.so.1",
        "/usr/lib/aarch64-linux-gnu/libatomic.so.1",
        "/usr/lib64/libatomic.so.1",
        "/usr/lib/libatomic.so.1",
    ),
    debian=("libatomic1",),
    elsewhere="libatomic",
    linux_only=True,
)
BROWSER: Final = (
    DRIVER,
    Part(
        "a Chromium browser",
        programs=("chromium", "chromium-browser", "google-chrome"),
        files=("/Applications/Google Chrome.app", "/Applications/Chromium.app"),
        debian=("chromium",),
        elsewhere="chromium, or Google Chrome",
    ),
    Part(
        "a font for that browser",
        files=("/usr/share/fonts", "/System/Library/Fonts"),
        debian=("fonts-dejavu-core",),
        elsewhere="any TrueType font",
    ),
)
INKSCAPE: Final = Part("Inkscape", programs=("inkscape",), debian=("inkscape",), elsewhere="inkscape")
FOR_TESTS: Final = (
    Part("git", programs=("git",), debian=("git",), elsewhere="git"),
    Part("strace", programs=("strace",), debian=("strace",), elsewhere="strace", linux_only=True),
    Part("poppler", programs=("pdftoppm",), debian=("poppler-utils",), elsewhere="poppler"),
    Part("Ghostscript", programs=("gs",), debian=("ghostscript",), elsewhere="ghostscript"),
    INKSCAPE,
    *BROWSER,
)
LAYER_PARTS: Final[Mapping[str, tuple[Part, ...]]] = {
    "run": (SKIA,),
    "editor": (),
    "test": (SKIA, *FOR_TESTS),
    "lint": (),
    "bench": (
        SKIA,
        *BROWSER,
        Part("cairo", imports="cairosvg", debian=("libcairo2",), elsewhere="cairo"),
        INKSCAPE,
    ),
}


@dataclass(frozen=True)
class Machine:
    """What decides how a part can get here."""

    root: bool
    debian: bool
    may_use_apt: bool
    linux: bool


def this_machine() -> Machine:
    """Look at the machine we are on."""
    release = Path("/etc/os-release")
    lines = release.read_text(encoding="utf-8").splitlines() if release.exists() else []
    words = " ".join(line.partition("=")[2].strip('"') for line in lines if line.startswith(("ID=", "ID_LIKE=")))
    return Machine(
        root=os.geteuid() == 0,
        debian="debian" in words.split() and shutil.which("apt-get") is not None,
        may_use_apt=os.environ.get("COUNTERMARK_NO_APT", "") in {"", "0"},
        linux=sys.platform == "linux",
    )


def install_line(packages: Sequence[str]) -> list[str]:
    """Return apt-get's argument list for packages: no questions, nothing beyond them and what they need."""
    return ["apt-get", "install", "--yes", "--no-install-recommends", *OPTIONS, *packages]


def way(machine: Machine, packages: Sequence[str]) -> str:
    """Return `apt` where the packages may be installed now, else the sentence that tells the person what to do."""
    line = f"apt-get update && {shlex.join(install_line(packages))}"
    if not machine.debian:
        return "install them with this system's package manager"
    if not machine.root:
        return f"run as root: {line}"
    if not machine.may_use_apt:
        return f"COUNTERMARK_NO_APT is set, so run it yourself: {line}"
    return "apt"


def apt(packages: Sequence[str], say: Say) -> bool:
    """Install Debian packages, trying again while another apt is busy or the mirror stumbles; True when done."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    update = ["apt-get", "update", *OPTIONS]
    say(f"running: {shlex.join(update)}")
    say(f"running: DEBIAN_FRONTEND=noninteractive {shlex.join(install_line(packages))}")
    for attempt in range(1, TRIES + 1):
        began = time.monotonic()
        # A failed update is no reason to stop: the lists that are here may do.
        for argv in (update, install_line(packages)):
            done = subprocess.run(
                argv,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
        if done.returncode == 0:
            say(f"{'Debian packages':<34} {time.monotonic() - began:6.1f} s")
            return True
        say(f"apt-get, try {attempt} of {TRIES}, ended with {done.returncode}:\n{done.stdout[-2000:]}")
        if attempt < TRIES:
            time.sleep(PAUSE * attempt)
    return False


def provide(layer: str, python: Path, machine: Machine, say: Say, stop: Stop) -> None:
    """Bring the layer's missing parts here, or say by name what stays missing."""
    wanted = [part for part in LAYER_PARTS[layer] if machine.linux or not part.linux_only]
    missing = [part for part in wanted if not part.present(python)]
    packages = [package for part in missing for package in part.debian]
    if missing and way(machine, packages) == "apt":
        apt(packages, say)
        missing = [part for part in missing if not part.present(python)]
        packages = [package for part in missing for package in part.debian]
    for part in missing:
        how = way(machine, part.debian)
        names = f" ({part.elsewhere})" if not machine.debian else ""
        told = f"{part.name} missing: {'apt-get could not bring it, see above' if how == 'apt' else how}{names}."
        if part.needed:
            stop(told)
        say(f"{told} Tests that need it will report it unavailable.")


def provide_venv(machine: Machine, say: Say, stop: Stop) -> None:
    """Make sure that this Python can build an environment with pip; Debian ships that part separately."""
    argv = [sys.executable, "-I", "-c", "import venv, ensurepip"]
    if subprocess.run(argv, capture_output=True, check=False).returncode == 0:
        return
    how = way(machine, ["python3-venv"])
    if how == "apt":
        apt(["python3-venv"], say)
        if subprocess.run(argv, capture_output=True, check=False).returncode == 0:
            return
        how = "apt-get could not bring it, see above"
    stop(f"this Python has no venv module with pip (Debian: python3-venv): {how}.")
