"""Readers of the line formats: UCI, Matrix Market, LDA-C, SVMlight."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import io as scipy_io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from cormorant.data import DataError, read
from cormorant.data.readers import files

DENSE = [[2, 0, 1], [0, 0, 0], [0, 5, 0]]
UCI = "3\n3\n3\n1 1 2\n1 3 1\n3 2 5\n"
MTX = "%%MatrixMarket matrix coordinate integer general\n% a comment\n3 3 3\n1 1 2\n1 3 1\n3 2 5\n"
LDA_C = "2 0:2 2:1\n0\n1 1:5\n"
SVM = "1 1:2 3:1 # a comment\n-1\nspam qid:3 2:5\n"
GOOD = {"docword.a.txt": UCI, "a.mtx": MTX, "a.ldac": LDA_C, "a.lda-c": LDA_C, "a.svm": SVM, "a.libsvm": SVM}


def put(folder: Path, name: str, text: str | bytes) -> Path:
    """Write a file, gzipped if the name says so."""
    content = text.encode() if isinstance(text, str) else text
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder / name


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("name", GOOD)
def test_every_format_plain_and_gzipped(tmp_path, name, suffix):
    path = put(tmp_path, name + suffix, GOOD[name])
    counts = read(path)
    assert counts.tocsr().toarray().tolist() == DENSE
    assert counts.column_names is None
    named = read(path, vocabulary=["x", "y", "z"], row_names=["a", "b", "c"])
    assert named.column_names.tolist() == ["x", "y", "z"]
    assert named.row_names.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("name", GOOD)
def test_windows_line_ends_byte_order_marks_and_missing_last_line_ends(tmp_path, name):
    text = b"\xef\xbb\xbf" + GOOD[name].rstrip("\n").replace("\n", "\r\n").encode()
    assert read(put(tmp_path, name, text)).tocsr().toarray().tolist() == DENSE


@pytest.mark.parametrize("name", GOOD)
def test_blocks_end_where_lines_end(tmp_path, name, monkeypatch):
    monkeypatch.setattr(files, "BLOCK_SIZE", 1)
    monkeypatch.setattr(files, "PIECE_SIZE", 3)
    assert read(put(tmp_path, name, GOOD[name])).tocsr().toarray().tolist() == DENSE


@pytest.mark.parametrize("vocabulary", ["vocab.a.txt", "vocab.a.txt.gz"])
def test_uci_finds_its_vocabulary(tmp_path, vocabulary):
    put(tmp_path, vocabulary, "apple\nbird\ncat\n")
    assert read(put(tmp_path, "docword.a.txt.gz", UCI)).column_names.tolist() == ["apple", "bird", "cat"]


def test_uci_by_format(tmp_path):
    assert read(put(tmp_path, "bag.txt", UCI), format="uci").total == 8


FAULTS = [
    ("docword.txt", "3\n3\n2\n1 1 2\n1 3 -1\n", "line 5: expected a count of at least 0, got -1"),
    ("docword.txt", "3\n3\n2\n1 1 2\n1 3 1.5\n", "line 5: expected a whole number, got 1.5; weights=True"),
    ("docword.txt", "3\n3\n2\n1 1 1e999\n", "line 4: the count inf is not finite"),
    ("docword.txt", "3\n3\n2\n1 1 2\n\n1 3\n", "line 6: expected 3 numbers on the line, got 2"),
    ("docword.txt", "3\n3\n2\n1 1 2\n1 3 1 1\n", "line 5: expected 3 numbers on the line, got 4"),
    ("docword.txt", "3\n3\n2\n1 1 2 1 3\n1\n", "line 4: expected 3 numbers on the line, got 5"),
    ("docword.txt", "3\n3\n2\n1 1 2\n1 3 many\n", "line 5: expected a number, got 'many'"),
    ("docword.txt", "3\n3\n2\n1 1 2\n1 3 1-2\n", "line 5: expected a number, got '1-2'"),
    ("docword.txt", "3\n3\n2\n1 1 2\n1 3 nan\n", "line 5: expected a number, got 'nan'"),
    (
        "docword.txt",
        "3\n3\n2\n1 1 2\n1:3 1 1\n",
        "line 5: expected 3 numbers on the line, got index:value pairs",
    ),
    (
        "docword.txt",
        "3\n3\n2\n1 1 2\n1 4 1\n",
        r"line 5: expected a column in 1\.\.3 \(declared in the header\), got 4",
    ),
    ("docword.txt", "3\n3\n2\n0 1 2\n1 3 1\n", r"line 4: expected a row in 1\.\.3 .*, got 0"),
    ("docword.txt", "3\n3\n2\n1.5 1 2\n", r"line 4: expected a row in 1\.\.3 .*, got 1.5"),
    ("docword.txt", "3\n3\n5\n1 1 2\n1 3 1\n", "line 3: the header declares 5 entries, the body has 2"),
    ("docword.txt", "3\n3\n5\n", "line 3: the header declares 5 entries, the body has 0"),
    ("docword.txt", "3\n3 3\n", "line 2: expected the number of words alone on this line, got '3 3'"),
    ("docword.txt", "3\n3\n", "line 2: the file ends here, before its header does"),
    ("docword.txt", "", "docword.txt: the file is empty"),
    ("a.mtx", "1 1 1\n", "line 1: expected '%%MatrixMarket matrix ...', got '1 1 1'"),
    (
        "a.mtx",
        "%%MatrixMarket matrix coordinate complex general\n",
        "line 1: expected integer, real or pattern",
    ),
    ("a.mtx", "%%MatrixMarket matrix array real symmetric\n", "line 1: expected integer, real or pattern"),
    (
        "a.mtx",
        MTX.replace("3 3 3", "3 3"),
        "line 3: expected the numbers of rows, columns and entries, got '3 3'",
    ),
    ("a.mtx", MTX.replace("1 3 1", "1 3 -1"), "line 5: expected a count of at least 0, got -1"),
    ("a.mtx", MTX.replace("3 2 5", "3 9 5"), r"line 6: expected a column in 1\.\.3"),
    ("a.mtx", MTX.replace("3 3 3", "3 3 4"), "line 3: the header declares 4 entries, the body has 3"),
    (
        "a.mtx",
        "%%MatrixMarket matrix array real general\n2 1\n1\n.5\n",
        "line 4: expected a whole number, got 0.5",
    ),
    (
        "a.mtx",
        "%%MatrixMarket matrix array real general\n2 1\n1\n",
        "line 2: the header declares 2 entries, the body",
    ),
    (
        "a.mtx",
        "%%MatrixMarket matrix coordinate integer symmetric\n2 3 1\n1 3 1\n",
        "line 2: a symmetric matrix must have as many rows as columns, got 2 and 3; .* write 'general'",
    ),
    ("a.mtx", MTX.replace("3 3 3", "3 99999999999 3"), "line 3: expected at most 2147483647 columns, got 99999999999"),
    ("a.mtx", MTX.replace("3 3 3", "1" + 30 * "0" + " 3 3"), "line 3: expected at most 2147483647 rows, got 10{30};"),
    ("docword.txt", "99999999999\n3\n0\n", "line 1: expected at most 2147483647 documents, got 99999999999"),
    ("docword.txt", "3\n2147483648\n0\n", "line 2: expected at most 2147483647 words, got 2147483648; number them"),
    ("a.ldac", "2 0:1 3:2\n1 1:7 2:3\n", "line 2: the line declares 1 pairs and has 2"),
    ("a.ldac", "1 0:1\n\n1 1:7\n", "line 3: a blank line comes before; an empty row is written 0"),
    ("a.ldac", "1 0:1\n1 5\n", "line 2: expected an index:value pair, got 5"),
    ("a.ldac", "1 0:1\n1:5\n", "line 2: expected a number before the pairs, got 1:5"),
    ("a.ldac", "1 0:1\n1 1:\n", "line 2: expected an index:value pair of numbers, got '1:'"),
    ("a.ldac", "1 0:1\n1 :\n", "line 2: expected an index:value pair of numbers, got ':'"),
    ("a.ldac", "1 0:1\n1 1:2:3\n", "line 2: expected an index:value pair of numbers, got '1:2:3'"),
    ("a.ldac", "1 0:1\n1 1:-2\n", "line 2: expected a count of at least 0, got -2"),
    ("a.ldac", "1 0:1\n1 1:.2\n", "line 2: expected a whole number, got 0.2"),
    ("a.ldac", "1 0:1\n1 -1:2\n", "line 2: expected a column index of at least 0, got -1"),
    (
        "a.ldac",
        "1 2147483647:1\n1 2147483648:1\n",
        "line 2: expected a column index of at most 2147483647, got 2147483648; number them anew, without gaps",
    ),
    ("a.ldac", "\n\n", "a.ldac: the file has no rows"),
    ("a.svm", "1 1:2\n1 2:x\n", "line 2: expected an index:value pair of numbers, got '2:x'"),
    ("a.svm", "1 1:2\n2:1 3:1\n", "line 2: expected a number before the pairs, got 2:1"),
    ("a.svm", "1 1:2\n1 3:-1\n", "line 2: expected a count of at least 0, got -1"),
    ("a.svm", "1 1:2\n1 99999999999:1\n", "line 2: expected a column index of at most 2147483647, got 99999999999"),
    ("a.svm", "# nothing\n", "a.svm: the file has no rows"),
]


@pytest.mark.parametrize(("name", "text", "message"), FAULTS)
def test_the_first_fault_has_file_and_line(tmp_path, name, text, message):
    path = put(tmp_path, name, text)
    with pytest.raises(DataError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("docword.txt", "line 2: the header declares 3 words, the vocabulary has 2"),
        ("a.ldac", r"line 1: expected a column index in 0\.\.1 \(the vocabulary\), got 2"),
        ("a.svm", r"line 1: expected a column index in 0\.\.2 \(the vocabulary\), got 3"),
        ("a.mtx", "column_names must have one name for each of the 3 columns, got 2"),
    ],
)
def test_an_index_past_the_vocabulary(tmp_path, name, message):
    text = {"docword.txt": UCI, "a.mtx": MTX, "a.ldac": LDA_C, "a.svm": SVM}[name]
    with pytest.raises(DataError, match=message):
        read(put(tmp_path, name, text), vocabulary=["x", "y"])


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("docword.txt", "9\n9\n4\n1 1 1\n1 2 -1\n1 3 1.5\n1 4\n1 5 x\n", 5),
        ("docword.txt", "9\n9\n4\n1 1 1\n1 2\n1 3 -1\n1 5 x\n", 5),
        ("docword.txt", "9\n9\n4\n1 1 x\n1 2\n1 3 -1\n", 4),
        ("a.ldac", "1 0:1\n1 1:-1\n2 1:1\n1 3\n1 x:1\n", 2),
        ("a.ldac", "1 0:1\n2 1:1\n1 1:-1\n1 x:1\n", 2),
        ("a.ldac", "1 0:1\n1 3\n2 1:1\n1 1:-1\n1 x:1\n", 2),
        ("a.svm", "1 1:1\n1 2:-1\n1 1\n1 x:1\n", 2),
    ],
)
@pytest.mark.parametrize("block_size", [8, 1 << 24])
def test_the_earliest_of_several_faults_is_told(tmp_path, monkeypatch, name, text, line, block_size):
    monkeypatch.setattr(files, "BLOCK_SIZE", block_size)
    monkeypatch.setattr(files, "PIECE_SIZE", 8)
    with pytest.raises(DataError, match=f", line {line}: "):
        read(put(tmp_path, name, text))


@pytest.mark.parametrize("name", ["docword.txt.gz", "a.ldac.gz", "a.mtx.gz", "a.svm.gz"])
def test_truncated_gzip(tmp_path, name):
    rng = np.random.default_rng(0)
    body = "".join(f"1 {i}:{n}\n" for i, n in rng.integers(1, 9, (20_000, 2)))
    texts = {
        "docword": "9\n9\n99999\n" + body.replace(":", " "),
        "a.mtx": MTX.replace("3 3 3", "9 9 9") + body,
    }
    text = next((t for start, t in texts.items() if name.startswith(start)), body)
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode())[:-200])
    with pytest.raises(DataError, match=r"gzip stream is broken or cut short after line \d{4,}"):
        read(path)
    path.write_bytes(gzip.compress(text.encode())[:12])
    with pytest.raises(DataError, match="cut short after line 0"):
        read(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docword.txt", "1\n2\n3\n1 1 2\n1 1 1\n1 1 4\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n1 2 3\n1 1 2\n1 1 1.0\n1 1 4\n"),
        ("a.ldac", "3 0:2 0:1 0:4\n"),
        ("a.svm", "1 1:2 1:1 1:4\n"),
    ],
)
def test_duplicates_are_summed_and_said(tmp_path, caplog, name, text):
    path = put(tmp_path, name, text)
    assert read(path).total == 7
    assert caplog.messages == [f"{path}: 2 duplicated (row, column) pairs were summed into others"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("docword.txt", "1\n1\n1\n1 1 .5\n"), ("a.ldac", "1 0:.5\n"), ("a.svm", "1 1:5e-1\n")],
)
def test_weights_on_request(tmp_path, name, text):
    assert read(put(tmp_path, name, text), weights=True).total == 0.5


def test_matrix_market_kinds(tmp_path):
    head = "%%MatrixMarket matrix "
    pattern = put(tmp_path, "p.mtx", head + "coordinate pattern symmetric\n\n3 3 2\n1 1\n3 2\n")
    assert read(pattern).tocsr().toarray().tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    array = put(tmp_path, "a.mtx", head + "array integer general\n2 3\n1\n2\n0\n4\n5\n6\n")
    assert read(array).tocsr().toarray().tolist() == [[1, 0, 5], [2, 4, 6]]
    empty = put(tmp_path, "e.mtx", head + "coordinate integer general\n2 3 0\n")
    assert read(empty).shape == (2, 3)


def test_svmlight_bases(tmp_path):
    one, zero = put(tmp_path, "one.svm", "1 1:2\n"), put(tmp_path, "zero.svm", "1 0:2 1:1\n")
    assert read(one).shape == (1, 1)
    assert read(one, zero_based=True).tocsr().toarray().tolist() == [[0, 2]]
    assert read(zero).tocsr().toarray().tolist() == [[2, 1]]
    with pytest.raises(DataError, match="line 1: expected a column index of at least 1, got 0"):
        read(zero, zero_based=False)
    with pytest.raises(DataError, match=r"line 1: expected a column index in 0\.\.0 \(n_columns\), got 1"):
        read(zero, n_columns=1)


def test_declared_width(tmp_path):
    path = put(tmp_path, "a.ldac", LDA_C)
    assert read(path, n_columns=7).shape == (3, 7)
    with pytest.raises(DataError, match=r"in 0\.\.1 \(n_columns\), got 2"):
        read(path, n_columns=2)
    with pytest.raises(DataError, match="n_columns is 7, but the vocabulary has 3 words"):
        read(path, n_columns=7, vocabulary=["x", "y", "z"])
    with pytest.raises(DataError, match="n_columns must be at most 2147483647, got 100000000000"):
        read(path, n_columns=10**11)


matrices = arrays(
    np.int64, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6), elements=st.integers(0, 10**6)
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(matrices)
def test_files_of_other_libraries(tmp_path, dense):
    matrix = sparse.csr_matrix(dense)
    scipy_io.mmwrite(tmp_path / "scipy.mtx", matrix)
    assert np.array_equal(read(tmp_path / "scipy.mtx").tocsr().toarray(), dense)
    dump_svmlight_file(matrix, np.zeros(len(dense)), str(tmp_path / "sklearn.svm"))
    counts = read(tmp_path / "sklearn.svm", zero_based=True, n_columns=dense.shape[1])
    assert np.array_equal(counts.tocsr().toarray(), dense)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="01:. -\n", max_size=30))
def test_no_text_reads_as_something_else(tmp_path, text):
    """What is accepted says exactly what a plain reading of the lines says."""
    path = put(tmp_path, "random.ldac", text)
    try:
        counts = read(path)
    except DataError:
        return
    lines = text.rstrip("\n ").split("\n")
    assert len(lines) == len(counts)
    pairs = [pair.split(":") for line in lines for pair in line.split()[1:]]
    assert counts.total == sum(float(value) for _, value in pairs)
