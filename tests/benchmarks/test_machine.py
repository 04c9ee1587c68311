"""Every page of figures says what they were measured on."""

import platform
import re

from harness import machine


def test_the_machine_in_words():
    assert re.fullmatch(rf".*{platform.machine()}, \d+ cores, \d+ GB, Python 3\.\d+\.\d+\S*", machine.describe())
    assert ", one thread, " in machine.describe("one thread")
