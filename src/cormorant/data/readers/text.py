"""Raw text, one document a line or a JSON object a line, counted by scikit-learn's CountVectorizer."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cormorant.data.counts import Counts
from cormorant.data.errors import DataError
from cormorant.data.readers.files import LineFile

logger = logging.getLogger("cormorant.data")

#: Words of at least three letters of any alphabet; no digits or underscores.
TOKEN_PATTERN = r"\b[^\W\d_]{3,}\b"


def read_text(path: Path, vocabulary: list[str] | None, **filters: Any) -> Counts:
    """One document a line; a blank line is an empty document. Filters: see `count_words`."""

    def documents() -> Iterator[str]:
        with LineFile(path) as file:
            yield from file.lines()

    return count_words(path, documents(), vocabulary, **filters)


def read_json_lines(
    path: Path, vocabulary: list[str] | None, *, text: str = "text", row: str | None = None, **filters: Any
) -> Counts:
    """One JSON object a line, its text in the field `text` and, if wanted, its name in the field `row`."""
    names: list[str] = []

    def documents() -> Iterator[str]:
        with LineFile(path) as file:
            for line in file.lines():
                if line.strip():
                    record = _json_object(file, line)
                    if row is not None:
                        names.append(str(_field(file, record, row)))
                    yield _text_field(file, record, text)

    counts = count_words(path, documents(), vocabulary, **filters)
    return counts.named(row_names=names if row is not None else None)


def count_words(
    path: Path,
    documents: Iterator[str],
    vocabulary: list[str] | None,
    *,
    min_df: int | float = 2,
    max_df: int | float = 0.5,
    max_features: int | None = 10_000,
    stop_words: str | list[str] | None = "english",
    token_pattern: str = TOKEN_PATTERN,
) -> Counts:
    """Count the words of documents, in lower case.

    Args:
        path: The file, for messages.
        documents: The texts.
        vocabulary: The words to count; the filters on document frequency then do not apply.
        min_df: Leave out words in fewer documents (a number, or a fraction of the documents).
        max_df: Leave out words in more documents (likewise).
        max_features: Keep the most frequent words only; None keeps all.
        stop_words: "english", words to leave out, or None.
        token_pattern: What a word is.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    filters: dict[str, Any] = {"min_df": min_df, "max_df": max_df, "max_features": max_features}
    vectorizer = CountVectorizer(stop_words=stop_words, token_pattern=token_pattern, vocabulary=vocabulary, **filters)
    try:
        matrix: Any = vectorizer.fit_transform(documents)
    except DataError:
        raise
    except ValueError as error:
        given = ", ".join(f"{name}={value!r}" for name, value in filters.items())
        raise DataError(f"{path}: no words could be counted ({error}); the filters are {given}.") from error
    n_empty = int((np.diff(matrix.indptr) == 0).sum())
    if n_empty:
        logger.warning("%s: %d of %d documents have none of the words kept", path, n_empty, matrix.shape[0])
    return Counts.from_csr(matrix, column_names=vectorizer.get_feature_names_out())


def _json_object(file: LineFile, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise file.fault(f"not JSON ({error.msg} at character {error.pos + 1}).") from error
    if not isinstance(record, dict):
        raise file.fault(f"expected a JSON object, got {line[:40]!r}.")
    return record


def _field(file: LineFile, record: dict[str, Any], name: str) -> Any:
    if name not in record:
        raise file.fault(f"no field {name!r}; the fields are {', '.join(map(repr, record)) or 'none'}.")
    return record[name]


def _text_field(file: LineFile, record: dict[str, Any], name: str) -> str:
    value = _field(file, record, name)
    if not isinstance(value, str):
        raise file.fault(f"expected text in the field {name!r}, got {value!r}.")
    return value
