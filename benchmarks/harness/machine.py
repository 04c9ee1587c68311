"""What a figure was measured on, in words."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def describe(cores: str = f"{os.cpu_count()} cores") -> str:
    """Processor, cores, memory and Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{_processor()}, {cores}, {memory:.0f} GB, Python {platform.python_version()}"


def _processor() -> str:
    """Its name where the system tells it, and its kind."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return ", ".join([*names[:1], platform.machine()])
