"""Which formulas are taken: names of columns, the transformations of formulaic, arithmetic; no other code.

A formula is worked out as Python, and it comes from files, too.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

QUOTED = re.compile(r"`[^`]*`")
EVERYTHING = re.compile(r"(?<![\w.])\.(?![\w.])")  # a dot by itself: all columns, in R
FAILED_TERM = re.compile(r"factor `(.+?)`\. \[")


def check_formula(formula: Any) -> None:
    """Refuse what is not a formula of one side, and calls of anything but transformations."""
    from formulaic.errors import FormulaicError
    from formulaic.formula import Formula

    expected = "formula must say which columns of covariates to take, for example '~ age + C(sex)'"
    if not isinstance(formula, str):
        raise ValueError(f"{expected}; got {formula!r}.")
    if EVERYTHING.search(QUOTED.sub("quoted", formula)):
        raise ValueError(
            f"{expected}; got {formula!r}, and a dot names none. To take every column leave the formula out "
            "(formula=None); to take some, join their names with +."
        )
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


def variables(formula: Any) -> set[str]:
    """Names of all columns that a parsed formula needs; formulaic's own list lacks those within splines."""
    from formulaic.transforms import TRANSFORMS

    found = looked_up(formula)
    expressions = {str(factor.expr) for term in formula for factor in term.factors} - found
    for expression in expressions:
        tree = ast.parse(QUOTED.sub("np", expression).strip(), mode="eval")
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        found |= names - {"np", "contr"} - set(TRANSFORMS)
        found |= {quoted.strip("`") for quoted in QUOTED.findall(expression)}
    return found


def why_it_failed(formula: str, error: Exception, states: dict[str, Any]) -> str:
    """What to say of a formula that could not be worked out for covariates; ``states`` are those of a fit, if any."""
    reason = str(error).splitlines()[0]
    term = FAILED_TERM.search(reason)
    if term is None or "extrapolation" not in reason:  # of a spline beyond the ends of its range
        return f"formula = {formula!r} could not be worked out for these covariates: {reason}"
    spline, bounds = term.group(1), states.get(term.group(1), {})
    where = ""
    if {"lower_bound", "upper_bound"} <= set(bounds):
        where = f", from {bounds['lower_bound']:g} to {bounds['upper_bound']:g}"
    open_ended = spline.removesuffix(")") + ", extrapolation='{}')"
    return (
        f"covariates must be within the range of the spline {spline} in the fit{where}; these rows go beyond. Fit with "
        f"{open_ended.format('extend')} to let the curve go on, or with 'clip' to keep it at its ends."
    )


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
