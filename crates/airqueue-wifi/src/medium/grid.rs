//! Points sorted into square cells, to find the points near a place without a search over all points.

/// A coordinate pair in metres.
pub(super) type Point = (f64, f64);

/// Points by rows of cells, and within a row by columns: the points near a place are a few runs of one list. Unlike an
/// array of cells, sorted lists need no more memory where points are far apart.
pub(super) struct Grid {
    side: f64,
    /// (column, index of the point), ordered by row.
    order: Vec<(i64, u32)>,
    /// (row, index in `order` at which the row begins), for rows with points.
    rows: Vec<(i64, usize)>,
}

impl Grid {
    /// A grid of finite `points` (at most 2³²) with cells `side` metres wide. Any positive side gives correct results;
    /// a side of about the usual radius is fastest.
    pub(super) fn new(points: &[Point], side: f64) -> Grid {
        let mut cells: Vec<(i64, i64, u32)> = (0u32..)
            .zip(points)
            .map(|(index, &(x, y))| (cell(y, side), cell(x, side), index))
            .collect();
        cells.sort_unstable();
        let mut rows: Vec<(i64, usize)> = Vec::new();
        for (at, &(row, ..)) in cells.iter().enumerate() {
            if rows.last().is_none_or(|&(last, _)| last != row) {
                rows.push((row, at));
            }
        }
        let order = cells.into_iter().map(|(_, column, index)| (column, index)).collect();
        Grid { side, order, rows }
    }

    /// Visits all points within `radius` of `(x, y)`, and some points beyond.
    pub(super) fn near(&self, (x, y): Point, radius: f64, mut visit: impl FnMut(u32)) {
        // Rounding must not lose a point at exactly `radius`.
        let reach = |at: f64| radius + 1e-9 * radius + 1e-12 * at.abs();
        let span = |at: f64| (cell(at - reach(at), self.side), cell(at + reach(at), self.side));
        let ((left, right), (low, high)) = (span(x), span(y));
        let first = self.rows.partition_point(|&(row, _)| row < low);
        for (k, &(row, begin)) in self.rows.iter().enumerate().skip(first) {
            if row > high {
                break;
            }
            let end = self.rows.get(k + 1).map_or(self.order.len(), |&(_, next)| next);
            let row = &self.order[begin..end];
            let from = row.partition_point(|&(column, _)| column < left);
            row[from..]
                .iter()
                .take_while(|&&(column, _)| column <= right)
                .for_each(|&(_, i)| visit(i));
        }
    }
}

/// The cell of a coordinate. Very large coordinates saturate and share a cell; the function stays monotone, so that a
/// span of coordinates is still a span of cells.
fn cell(at: f64, side: f64) -> i64 {
    (at / side).floor() as i64
}
