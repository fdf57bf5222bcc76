//! CoDel's control law to the departure: the long loops of `airqueue.measure.disciplines.exact_law`.

use crate::error;
use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::f64::consts::PI;

type Floats<'py> = Bound<'py, PyArray1<f64>>;

/// What is tried: the instants between which each event came, for some rings, and the instants of some laws in intervals.
/// Shapes (rings, events), twice, and (laws, events or more).
#[derive(FromPyObject)]
pub(crate) struct Tried<'py>(
    PyReadonlyArray2<'py, f64>,
    PyReadonlyArray2<'py, f64>,
    PyReadonlyArray2<'py, f64>,
);

/// Pairs of a ring and a law: their places.
#[derive(FromPyObject)]
pub(crate) struct Pairs<'py>(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>);

/// Of each pair of a ring and a law, the least and the greatest interval with which some first instant puts the first events
/// between `low` and `high`, each with `edge` of room. Where the least is greater than the greatest no interval does so, and
/// both are ends for some of the events alone. `edge`: one for all pairs, or one for each. `events`: how many first events
/// have given the interval its `ends`, the least and the greatest, and how many are to be compared.
#[pyfunction]
pub(crate) fn law_intervals<'py>(
    py: Python<'py>,
    tried: Tried<'py>,
    pairs: Pairs<'py>,
    events: (usize, usize),
    edge: PyReadonlyArray1<'py, f64>,
    ends: (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>),
) -> PyResult<(Floats<'py>, Floats<'py>)> {
    let each = Each::new(&tried, &pairs, events.1, &edge)?;
    let (least, most) = (ends.0.as_array(), ends.1.as_array());
    if [least.len(), most.len()] != [each.pairs.len(); 2] {
        return Err(error("each pair needs the ends of its interval"));
    }
    let narrowed =
        |((pair, &least), &most): ((Pair<'_>, &f64), &f64)| pair.narrowed(events.0, (least, most));
    let (least, most): (Vec<f64>, Vec<f64>) =
        each.iter().zip(least).zip(most).map(narrowed).unzip();
    Ok((least.into_pyarray(py), most.into_pyarray(py)))
}

/// Of each pair, the chance that events at random are all in their places. The interval puts one of them there, and is one of
/// as many within `known` as can be told apart.
#[pyfunction]
pub(crate) fn law_chances<'py>(
    py: Python<'py>,
    tried: Tried<'py>,
    pairs: Pairs<'py>,
    events: usize,
    edge: PyReadonlyArray1<'py, f64>,
    interval: PyReadonlyArray1<'py, f64>,
    known: f64,
) -> PyResult<Floats<'py>> {
    let each = Each::new(&tried, &pairs, events, &edge)?;
    let interval = interval.as_array();
    if interval.len() != each.pairs.len() || events < 2 {
        return Err(error("each pair needs an interval, and two events"));
    }
    let chance = |(pair, &interval): (Pair<'_>, &f64)| pair.chance(interval, known);
    Ok(each.iter().zip(interval).map(chance).collect::<Vec<_>>().into_pyarray(py))
}

/// All pairs, checked.
struct Each<'a> {
    low: Vec<Cow<'a, [f64]>>,
    high: Vec<Cow<'a, [f64]>>,
    shapes: Vec<Cow<'a, [f64]>>,
    pairs: Vec<(usize, usize)>,
    events: usize,
    edge: Cow<'a, [f64]>,
}

impl<'a> Each<'a> {
    fn new(
        Tried(low, high, shapes): &'a Tried<'_>,
        Pairs(rings, laws): &Pairs<'_>,
        events: usize,
        edge: &'a PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Each<'a>> {
        let (low, high, shapes) = (low.as_array(), high.as_array(), shapes.as_array());
        let (rings, laws) = (rings.as_array(), laws.as_array());
        let place = |place: i64| usize::try_from(place).unwrap_or(usize::MAX);
        let pairs: Vec<_> =
            rings.iter().zip(&laws).map(|(&ring, &law)| (place(ring), place(law))).collect();
        let there = |&(ring, law): &(usize, usize)| ring < low.nrows() && law < shapes.nrows();
        let fits = low.dim() == high.dim()
            && rings.len() == laws.len()
            && events <= low.ncols().min(shapes.ncols())
            && [1, pairs.len()].contains(&edge.len()?)
            && pairs.iter().all(there);
        if !fits {
            return Err(error("the shapes of the arrays do not fit"));
        }
        let [low, high, shapes] = [low, high, shapes].map(rows);
        Ok(Each { low, high, shapes, pairs, events, edge: slice(edge.as_array()) })
    }

    fn iter(&self) -> impl Iterator<Item = Pair<'_>> {
        self.pairs.iter().enumerate().map(|(at, &(ring, law))| Pair {
            low: &self.low[ring][..self.events],
            high: &self.high[ring][..self.events],
            shape: &self.shapes[law][..self.events],
            room: 2.0 * self.edge[if self.edge.len() == 1 { 0 } else { at }],
        })
    }
}

fn rows(array: ArrayView2<'_, f64>) -> Vec<Cow<'_, [f64]>> {
    array.into_outer_iter().map(slice).collect()
}

/// An array as a slice, which is read several times faster than a view.
fn slice(array: ArrayView1<'_, f64>) -> Cow<'_, [f64]> {
    array.to_slice().map_or_else(|| Cow::Owned(array.to_vec()), Cow::Borrowed)
}

/// One ring and one law.
struct Pair<'a> {
    low: &'a [f64],
    high: &'a [f64],
    shape: &'a [f64],
    room: f64,
}

impl Pair<'_> {
    /// Of any two events the later one may come neither too late nor too soon after the other. The given ends hold for the
    /// first events.
    fn narrowed(&self, first: usize, (mut least, mut most): (f64, f64)) -> (f64, f64) {
        let Pair { low, high, shape, room } = *self;
        for later in first..low.len() {
            let (soonest, latest) = (low[later] - room, high[later] + room);
            let earlier = low.iter().zip(high).zip(shape).take(later);
            for ((low_before, high_before), before) in earlier {
                let per = 1.0 / (shape[later] - before);
                let (soon, late) = ((soonest - high_before) * per, (latest - low_before) * per);
                // Not f64::max, which looks after numbers that are none.
                least = if soon > least { soon } else { least };
                most = if late < most { late } else { most };
            }
            if least > most {
                break;
            }
        }
        (least, most)
    }

    fn chance(&self, interval: f64, known: f64) -> f64 {
        let Pair { low, high, shape, room } = *self;
        let (mut sum, mut least, mut wide) = (0.0_f64, 0.0_f64, 0.0_f64);
        for event in 1..low.len() {
            let between = high[event] - low[event] + room;
            let gap = (interval * (shape[event] - shape[event - 1])).max(1e-12);
            let stays = ln_stays(between / gap);
            wide += between;
            sum += stays;
            least = least.min(stays);
        }
        let gaps = (low.len() - 1) as f64;
        let told_apart = interval.min(known) * shape[low.len() - 1] / (wide / gaps);
        told_apart.max(1.0) * (sum - least).exp()
    }
}

/// How likely a place at random stays in a gap between departures for one more drop, as a logarithm.
///
/// `ratio`: that gap over the law's gap g between drops. A gap at random is even between 0 and 2 g, as RED draws it, so
/// that places wander by up to g from drop to drop. The largest eigenvalue of this walk within its bounds: ratio / 2 up to 1,
/// beyond that exp(-pi^2 / 6 (ratio + 0.6)^2). At most 8 % are too much.
fn ln_stays(ratio: f64) -> f64 {
    let walk = -(PI * PI) / 6.0 / ((ratio + 0.6) * (ratio + 0.6));
    if ratio < 1.0 { walk.max((ratio / 2.0).ln()) } else { walk }
}
