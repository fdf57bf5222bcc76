//! Text that users write: quantities, lists and ranges, queues. An error in a text is a `ValueError`.

use airqueue_core::quantity::{Decimal, Kind, Measure};
use airqueue_core::ranges::{self, Element, Range, Term, Value};
use airqueue_qdisc::text::{self as queue_text, Counted, QueueText};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString};

fn wrong(problem: String) -> PyErr {
    PyValueError::new_err(problem)
}

/// A text in Rust's form; a lone surrogate becomes a replacement character, which no grammar accepts.
fn text(given: &Bound<'_, PyString>) -> String {
    given.to_string_lossy().into_owned()
}

fn kind(name: &str) -> PyResult<Kind> {
    Kind::named(name).ok_or_else(|| {
        let names = Kind::ALL.map(Kind::name).join(", ");
        wrong(format!("{name:?} is no kind of quantity; there are {names}"))
    })
}

fn element(name: &str) -> PyResult<Element> {
    Ok(match name {
        "number" => Element::Number,
        "whole" => Element::Whole,
        "any" => Element::Any,
        name => Element::Of(kind(name)?),
    })
}

/// A number in Python's form: an int if the kind has whole numbers only.
fn number(py: Python<'_>, value: f64, whole: bool) -> PyResult<Bound<'_, PyAny>> {
    if whole && value.abs() < 2f64.powi(63) {
        Ok((value as i64).into_pyobject(py)?.into_any())
    } else {
        Ok(value.into_pyobject(py)?.into_any())
    }
}

fn value(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Value::Absent => py.None().into_bound(py),
        Value::Number(number) => number.into_pyobject(py)?.into_any(),
        Value::Whole(number) => number.into_pyobject(py)?.into_any(),
        Value::Text(text) => text.into_pyobject(py)?.into_any(),
    })
}

fn values(py: Python<'_>, found: Vec<Value>) -> PyResult<Bound<'_, PyList>> {
    let found: PyResult<Vec<_>> = found.into_iter().map(|each| value(py, each)).collect();
    PyList::new(py, found?)
}

/// The value of a text, in the base unit of its kind.
#[pyfunction]
pub(crate) fn parse_quantity<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyString>,
    kind: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let kind = self::kind(kind)?;
    number(py, kind.parse(&self::text(text)).map_err(wrong)?, kind.whole())
}

/// A number in the base unit, as a user would type the number.
#[pyfunction]
pub(crate) fn write_quantity(value: f64, kind: &str) -> PyResult<String> {
    Ok(self::kind(kind)?.written(value))
}

/// A text that is a quantity of only one kind: the number in the kind's base unit, and this unit.
#[pyfunction]
pub(crate) fn measure<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyString>,
) -> PyResult<Option<(Bound<'py, PyAny>, &'static str)>> {
    let Some(measure) = Measure::of_any_kind(&self::text(text)) else { return Ok(None) };
    let (value, unit) = measure.figure();
    Ok(Some((number(py, value, value.fract() == 0.0)?, unit)))
}

/// The values of a list or a range, whether the text has several values, and whether their ratios are even.
#[pyfunction]
#[pyo3(signature = (text, kind, *, absent=None, most))]
pub(crate) fn parse_values<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyString>,
    kind: &str,
    absent: Option<&str>,
    most: usize,
) -> PyResult<(Bound<'py, PyList>, bool, bool)> {
    let found = ranges::values(&self::text(text), element(kind)?, absent, most).map_err(wrong)?;
    Ok((values(py, found.values)?, found.swept, found.geometric))
}

/// The values of lists that are separated by slashes.
#[pyfunction]
#[pyo3(signature = (text, kind, *, absent=None))]
pub(crate) fn parse_lists<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyString>,
    kind: &str,
    absent: Option<&str>,
) -> PyResult<Vec<Option<Bound<'py, PyList>>>> {
    let found = ranges::lists(&self::text(text), element(kind)?, absent).map_err(wrong)?;
    found.into_iter().map(|list| list.map(|list| values(py, list)).transpose()).collect()
}

/// A queue's discipline, its limit, and what the limit counts.
#[pyfunction]
pub(crate) fn parse_queue(
    text: &Bound<'_, PyString>,
) -> PyResult<(&'static str, Option<u64>, Option<&'static str>)> {
    let queue = QueueText::parse(&self::text(text)).map_err(wrong)?;
    let (limit, counted) = queue.limit.unzip();
    Ok((queue.word, limit, counted.map(Counted::word)))
}

/// A number of packets or of bytes, and which of these two.
#[pyfunction]
pub(crate) fn parse_limit(text: &Bound<'_, PyString>) -> PyResult<(u64, &'static str)> {
    let (count, counted) = queue_text::limit(&self::text(text)).map_err(wrong)?;
    Ok((count, counted.word()))
}

/// The range between two values of a scenario.
#[pyclass(name = "Range", module = "airqueue._native", frozen)]
pub(crate) struct PyRange {
    range: Range,
    log: bool,
}

/// A number, or a text with a number and a unit.
fn term(given: &Bound<'_, PyAny>) -> PyResult<Term> {
    if let Ok(given) = given.cast::<PyString>() {
        return Element::Any.read(&text(given)).map_err(wrong);
    }
    let whole = given.is_instance_of::<PyInt>() && !given.is_instance_of::<PyBool>();
    if !whole && !given.is_instance_of::<PyFloat>() {
        return Err(wrong("it is no number, and no text".to_owned()));
    }
    Ok(Term::of(given.extract()?, whole))
}

#[pymethods]
impl PyRange {
    #[new]
    fn new(first: &Bound<'_, PyAny>, last: &Bound<'_, PyAny>, log: bool) -> PyResult<Self> {
        let range = Range::between(term(first)?, term(last)?).map_err(wrong)?;
        range.check_ends(log).map_err(wrong)?;
        Ok(PyRange { range, log })
    }

    /// `count` values, at least two, both ends included.
    fn points<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        values(py, self.range.points(count, self.log).map_err(wrong)?)
    }

    /// The value at a fraction of the range, 0 to 1.
    fn at<'py>(&self, py: Python<'py>, share: f64) -> PyResult<Bound<'py, PyAny>> {
        value(py, self.range.at(Decimal::of(share), self.log).map_err(wrong)?)
    }

    /// The value at a random fraction, 0 to 1; whole numbers are equally likely.
    fn drawn<'py>(&self, py: Python<'py>, share: f64) -> PyResult<Bound<'py, PyAny>> {
        value(py, self.range.drawn(share, self.log).map_err(wrong)?)
    }
}
