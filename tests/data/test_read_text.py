"""Readers of raw text."""

import gzip
import json

import pytest

from cormorant.data import DataError, read

DOCUMENTS = [
    "The Apple fell; the apple ROLLED away.",
    "Birds eat apples, and an apple a day.",
    "",
    "Birds fly south in 1999: birds_of_prey, été, été!",
    "Snow, été.",
]


def put(folder, name, content: bytes):
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder / name


@pytest.mark.parametrize("name", ["posts.txt", "posts.txt.gz"])
def test_one_document_a_line(tmp_path, name, caplog):
    path = put(tmp_path, name, "\n".join(DOCUMENTS).encode())
    counts = read(path)
    assert counts.column_names.tolist() == ["apple", "birds", "été"]
    assert counts.tocsr().toarray().tolist() == [[2, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 2], [0, 0, 1]]
    assert caplog.messages == [f"{path}: 1 of 5 documents have none of the words kept"]


@pytest.mark.parametrize("name", ["posts.jsonl", "posts.jsonl.gz", "posts.ndjson"])
def test_json_lines(tmp_path, name):
    lines = "\n".join(json.dumps({"id": i, "body": text}) for i, text in enumerate(DOCUMENTS)) + "\n\n"
    counts = read(put(tmp_path, name, lines.encode()), text="body", row="id")
    assert counts.row_names.tolist() == ["0", "1", "2", "3", "4"]
    assert counts.column_totals().tolist() == [3, 2, 3]


def test_filters(tmp_path):
    path = put(tmp_path, "posts.txt", "\n".join(DOCUMENTS).encode())
    assert read(path, max_features=1).column_names.tolist() == ["apple"]
    assert "rolled" in read(path, min_df=1).column_names
    assert "the" not in read(path, min_df=1).column_names
    assert "the" in read(path, min_df=1, stop_words=None).column_names
    assert read(path, token_pattern=r"\d+", min_df=1).column_names.tolist() == ["1999"]


def test_vocabulary(tmp_path):
    path = put(tmp_path, "posts.txt", "\n".join(DOCUMENTS).encode())
    counts = read(path, vocabulary=["snow", "zebra", "fell"])
    assert counts.column_names.tolist() == ["snow", "zebra", "fell"]
    assert counts.column_totals().tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{oops", r"line 2: not JSON \(Expecting property name"),
        (b"[1, 2]", r"line 2: expected a JSON object, got '\[1, 2\]'"),
        (b'{"body": "x"}', "line 2: no field 'text'; the fields are 'body'"),
        (b"{}", "line 2: no field 'text'; the fields are none"),
        (b'{"text": 3}', "line 2: expected text in the field 'text', got 3"),
        (b'{"text": "\xff"}', "line 2: not UTF-8 text"),
    ],
)
def test_json_faults_have_file_and_line(tmp_path, line, message):
    path = put(tmp_path, "posts.jsonl", b'{"text": "apples and birds"}\n' + line + b"\n")
    with pytest.raises(DataError, match=rf"posts\.jsonl, {message}"):
        read(path)


def test_filters_that_leave_nothing(tmp_path):
    path = put(tmp_path, "posts.txt", b"one two three\n")
    with pytest.raises(DataError, match=r"posts\.txt: no words could be counted .*min_df=2, max_df=0\.5"):
        read(path)


def test_truncated_gzip(tmp_path):
    path = tmp_path / "posts.jsonl.gz"
    text = "\n".join(json.dumps({"text": f"{i} apples {i * 7919 % 1000}"}) for i in range(3000))
    path.write_bytes(gzip.compress(text.encode())[:-100])
    with pytest.raises(DataError, match=r"cut short after line \d{4}"):
        read(path)
