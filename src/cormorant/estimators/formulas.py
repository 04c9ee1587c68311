"""Which formulas are taken: names of columns, the transformations of formulaic, arithmetic; no other code.

A formula is worked out as Python, and it comes from files, too.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

QUOTED = re.compile(r"`[^`]*`")


def check_formula(formula: Any) -> None:
    """Refuse what is not a formula of one side, and calls of anything but transformations."""
    from formulaic.errors import FormulaicError
    from formulaic.formula import Formula

    expected = "formula must say which columns of covariates to take, for example '~ age + C(sex)'"
    if not isinstance(formula, str):
        raise ValueError(f"{expected}; got {formula!r}.")
    try:
        parsed: Any = Formula.from_spec(formula)
    except (FormulaicError, SyntaxError) as error:
        raise ValueError(f"{expected}; got {formula!r}: {str(error).splitlines()[0]}") from None
    if not hasattr(parsed, "required_variables") or hasattr(parsed, "lhs"):
        raise ValueError(f"{expected}, with nothing on the left of ~; got {formula!r}.")
    names = looked_up(parsed)
    for term in parsed:
        for factor in term.factors:
            if str(factor.expr) not in names:
                _check_expression(str(factor.expr), formula)


def looked_up(formula: Any) -> set[str]:
    """Names of columns that stand by themselves, whatever characters they have; they are not worked out."""
    from formulaic.parser.types import Factor

    lookup = Factor.EvalMethod.LOOKUP
    return {str(factor.expr) for term in formula for factor in term.factors if factor.eval_method is lookup}


def _check_expression(expression: str, formula: str) -> None:
    """Only what formulaic offers is called, and numpy's functions of numbers."""
    from formulaic.transforms import TRANSFORMS

    tree = ast.parse(QUOTED.sub("quoted", expression).strip(), mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            allowed = owner == "contr" or (owner == "np" and isinstance(getattr(np, node.attr, None), np.ufunc))
            if not allowed or node.attr.startswith("_"):
                raise ValueError(f"formula = {formula!r} may not use {ast.unparse(node)}.")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in TRANSFORMS:
            raise ValueError(
                f"formula = {formula!r} may not call {node.func.id}; there are {', '.join(sorted(TRANSFORMS))}."
            )
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name | ast.Attribute):
            raise ValueError(f"formula = {formula!r} may not call {ast.unparse(node.func)}.")
        if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.NamedExpr):
            raise ValueError(f"formula = {formula!r} may hold no program.")
