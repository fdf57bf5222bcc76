//! A video in segments of several rates, as DASH and HLS fetch it: a player with a buffer chooses the rate of each.

use super::registry::{Asked, Carried, Kind, Load};
use super::tcp::NO_RATE;
use airqueue_core::keys::{self, error, wrong};
use airqueue_core::quantity::{Duration, Quantity, Rate};
use airqueue_core::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use thiserror::Error;

/// Most rates of a ladder.
const MOST_RATES: usize = 32;
/// The fixed ladder of Netflix before 2015 (Aaron et al., Per-Title Encode Optimization, 2015), in kb/s.
const LADDER_KBPS: [u32; 10] = [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800];
const SEGMENT: Span = Span::from_secs(4);
const BUFFER: Span = Span::from_secs(30);
const LEAST_SEGMENT: Span = Span::from_millis(100);
const MOST_BUFFER: Span = Span::from_secs(3600);
/// Segments whose throughput predicts that of the next (Yin et al., SIGCOMM 2015, section 7.1.2: RB).
const PAST: usize = 5;
/// The part of the predicted throughput that the next segment may need (Jiang et al., CoNEXT 2012, section 4.2).
const SAFETY: f64 = 0.85;
/// The reservoir and the end of the cushion, in parts of the buffer: 90 s and 216 s of 240 s (Huang et al., SIGCOMM 2014,
/// section 4.1: BBA-0).
const RESERVOIR: f64 = 0.375;
const CUSHION_END: f64 = 0.9;

/// A video whose player chooses the rate of each segment, over one TCP connection.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VideoTable {
    /// The rates of the video, rising. The default are ten rates from `235 kb/s` to `5.8 Mb/s`.
    pub rates: Option<Vec<Quantity<Rate>>>,
    /// Length of a segment. The default is `4 s`.
    pub segment: Option<Quantity<Duration>>,
    /// So much video the player keeps at most. The next segment is requested as soon as there is room for it. The default
    /// is `30 s`.
    pub buffer: Option<Quantity<Duration>>,
    /// The player begins, and goes on after a stall, with so much video. The default is a segment.
    pub start_at: Option<Quantity<Duration>>,
    /// How the player chooses a segment's rate. The default is throughput.
    pub choice: Option<VideoChoiceName>,
}

/// How a player chooses the rate of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VideoChoiceName {
    /// The highest rate below 0.85 times the harmonic mean of the last five segments' throughput; the first segment
    /// has the lowest rate.
    #[default]
    Throughput,
    /// By the buffer alone (BBA-0): the lowest rate below 3/8 of the buffer, the highest from 9/10 on, linear between them; the
    /// rate changes only where that line passes the next rate.
    Buffer,
}

pub(super) struct Video;

impl Kind for Video {
    const ABOUT: &'static str = "A video in segments over one TCP connection; the player's buffer, stalls and rates are among the figures.";
    const OVER_TCP: bool = true;
    const TABLE_OF: &'static str = "segments";

    fn carried(asked: &Asked<'_>) -> keys::Result<Carried> {
        asked.refuse(&["rate", "packet_rate"], NO_RATE)?;
        asked.refuse(
            &["transfer_size"],
            "the sizes of segments follow from flows.video; leave the key out",
        )?;
        let none = VideoTable::default();
        let video = asked.tables.video.unwrap_or(&none).spec(asked.key)?;
        Ok(Carried::Tcp(Load::Video(video)))
    }
}

impl VideoTable {
    fn spec(&self, flow: &str) -> keys::Result<VideoSpec> {
        let key = |name: &str| format!("{flow}.video.{name}");
        let rates_bps = match &self.rates {
            None => LADDER_KBPS.map(|kbps| kbps * 1000).to_vec(),
            Some(rates) => rates
                .iter()
                .enumerate()
                .map(|(at, rate)| {
                    let too_fast =
                        || error(format!("{}[{at}]", key("rates")), "expected below 4 Gb/s");
                    u32::try_from(rate.value.as_bps()).map_err(|_| too_fast())
                })
                .collect::<keys::Result<_>>()?,
        };
        if !(1..=MOST_RATES).contains(&rates_bps.len()) {
            let problem =
                format_args!("found {} rates, expected 1 to {MOST_RATES}", rates_bps.len());
            return wrong(key("rates"), problem);
        }
        if let Some(at) = rates_bps.windows(2).position(|pair| pair[0] >= pair[1]) {
            let problem = "expected a higher rate than the one before";
            return wrong(format!("{}[{}]", key("rates"), at + 1), problem);
        }
        let given =
            |of: &Option<Quantity<Duration>>, usual| of.as_ref().map_or(usual, |of| of.value);
        let segment = given(&self.segment, SEGMENT);
        let buffer = given(&self.buffer, BUFFER.max(segment));
        let start_at = given(&self.start_at, segment);
        if segment < LEAST_SEGMENT {
            return wrong(key("segment"), "expected at least 100 ms");
        }
        if !(segment..=MOST_BUFFER).contains(&buffer) {
            return wrong(key("buffer"), "expected at least a segment, and at most an hour");
        }
        if !(Span::from_nanos(1)..=segment.max(buffer - segment)).contains(&start_at) {
            let problem = "expected more than 0 s and at most the buffer without a segment";
            return wrong(key("start_at"), problem);
        }
        let video = VideoSpec {
            rates: Ladder::of(&rates_bps),
            segment,
            buffer,
            start_at,
            choice: self.choice.unwrap_or_default(),
        };
        match Player::new(video) {
            Ok(_) => Ok(video),
            Err(problem) => wrong(key("segment"), problem),
        }
    }
}

/// Rates, rising.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ladder {
    bps: [u32; MOST_RATES],
    count: usize,
}

impl Ladder {
    /// At most 32 of these rates.
    pub fn of(rates_bps: &[u32]) -> Ladder {
        let count = rates_bps.len().min(MOST_RATES);
        let mut bps = [0; MOST_RATES];
        bps[..count].copy_from_slice(&rates_bps[..count]);
        Ladder { bps, count }
    }

    fn bps(&self) -> &[u32] {
        &self.bps[..self.count]
    }
}

/// A video and its player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoSpec {
    /// The rates.
    pub rates: Ladder,
    /// Length of a segment.
    pub segment: Span,
    /// So much video the player keeps at most.
    pub buffer: Span,
    /// The player begins, and goes on after a stall, with so much video.
    pub start_at: Span,
    /// How rates are chosen.
    pub choice: VideoChoiceName,
}

/// Why a video was refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[expect(missing_docs)] // the messages say it
pub enum VideoError {
    #[error("no rates, or rates that do not rise")]
    Rates,
    #[error(
        "a segment of the lowest rate has less than a byte, or of the highest rate more than 1 TB"
    )]
    Segment,
    #[error("no segment, or a buffer without room for it, or for the start")]
    Buffer,
}

/// What a player did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VideoCounters {
    /// Segments that came whole.
    pub segments: u64,
    /// Segments with another rate than the one before.
    pub switches: u64,
    /// Sum of the segments' rates in bits per second.
    pub rates_bps: u64,
    /// How long the player played.
    pub played: Span,
    /// How often the buffer ran empty.
    pub stalls: u64,
    /// How long the player waited for video after it had begun.
    pub stalled: Span,
    /// From the first request to the first picture, if that was shown since counting began.
    pub start_up: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No picture was shown yet.
    Begins,
    Plays,
    Stalled,
    /// The flow is over.
    Ended,
}

/// A player: the state of a video.
#[derive(Clone, Debug)]
pub struct Player {
    spec: VideoSpec,
    state: State,
    /// Video in the buffer at the time `now`.
    buffered: Span,
    now: Time,
    /// The segment that is under way: when it was requested, and its rate.
    requested: Time,
    rate: usize,
    /// The rate of the last segment that came whole.
    last: Option<usize>,
    /// The first request.
    began: Option<Time>,
    /// Throughput of the last segments in bits per second.
    past_bps: VecDeque<f64>,
    /// How long the present stall has lasted, or the last one that was over and nobody has asked for.
    stall: Span,
    counters: VideoCounters,
}

impl Player {
    /// A player that has requested nothing yet.
    ///
    /// # Errors
    ///
    /// If the video cannot be.
    pub fn new(spec: VideoSpec) -> Result<Player, VideoError> {
        let rates = spec.rates.bps();
        if rates.is_empty() || rates.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(VideoError::Rates);
        }
        let longer = spec.segment > Span::ZERO && spec.start_at > Span::ZERO;
        let room = spec.segment.max(spec.buffer - spec.segment);
        if !longer || spec.buffer < spec.segment || spec.start_at > room {
            return Err(VideoError::Buffer);
        }
        let player = Player {
            spec,
            state: State::Begins,
            buffered: Span::ZERO,
            now: Time::ZERO,
            requested: Time::ZERO,
            rate: 0,
            last: None,
            began: None,
            past_bps: VecDeque::with_capacity(PAST),
            stall: Span::ZERO,
            counters: VideoCounters::default(),
        };
        match (player.bytes(0), player.bytes(rates.len() - 1)) {
            (1.., ..=1_000_000_000_000) => Ok(player),
            _ => Err(VideoError::Segment),
        }
    }

    /// Bytes of a segment of the rate with this number.
    fn bytes(&self, rate: usize) -> u64 {
        let bits = u128::from(self.spec.rates.bps()[rate]) * self.spec.segment.as_nanos() as u128;
        (bits / 8_000_000_000).min(u128::from(u64::MAX)) as u64
    }

    /// Requests the next segment: its bytes.
    pub fn request(&mut self, now: Time) -> u64 {
        self.play(now);
        self.began.get_or_insert(now);
        self.requested = now;
        let rate = match self.spec.choice {
            VideoChoiceName::Throughput => self.by_throughput(),
            VideoChoiceName::Buffer => self.by_buffer(),
        };
        self.rate = rate;
        self.bytes(rate)
    }

    fn by_throughput(&self) -> usize {
        if self.past_bps.is_empty() {
            return 0;
        }
        let inverse: f64 = self.past_bps.iter().map(|bps| 1.0 / bps).sum();
        let allowed_bps = SAFETY * self.past_bps.len() as f64 / inverse;
        let above = self.spec.rates.bps().partition_point(|&bps| f64::from(bps) <= allowed_bps);
        above.saturating_sub(1)
    }

    /// Algorithm 1 of Huang et al.
    fn by_buffer(&self) -> usize {
        let (rates, last) = (self.spec.rates.bps(), self.spec.rates.bps().len() - 1);
        let filled = self.buffered.as_secs_f64() / self.spec.buffer.as_secs_f64();
        if filled <= RESERVOIR {
            return 0;
        }
        if filled >= CUSHION_END {
            return last;
        }
        let along = (filled - RESERVOIR) / (CUSHION_END - RESERVOIR);
        let line_bps = f64::from(rates[0]) + along * f64::from(rates[last] - rates[0]);
        let (above, below) = ((self.rate + 1).min(last), self.rate.saturating_sub(1));
        if line_bps >= f64::from(rates[above]) {
            rates.partition_point(|&bps| f64::from(bps) < line_bps).saturating_sub(1)
        } else if line_bps <= f64::from(rates[below]) {
            rates.partition_point(|&bps| f64::from(bps) <= line_bps).min(last)
        } else {
            self.rate
        }
    }

    /// The segment that was requested last has come whole. Returns when to request the next.
    pub fn on_segment(&mut self, now: Time) -> Time {
        self.play(now);
        let took = (now - self.requested).max(Span::from_nanos(1));
        if self.past_bps.len() == PAST {
            self.past_bps.pop_front();
        }
        self.past_bps.push_back(8.0 * self.bytes(self.rate) as f64 / took.as_secs_f64());
        self.counters.segments += 1;
        let before = self.last.replace(self.rate);
        self.counters.switches += u64::from(before.is_some_and(|before| before != self.rate));
        self.counters.rates_bps += u64::from(self.spec.rates.bps()[self.rate]);
        self.buffered = self.buffered + self.spec.segment;
        if self.state != State::Plays && self.buffered >= self.spec.start_at {
            if self.state == State::Begins {
                self.counters.start_up = self.began.map(|began| now - began);
            }
            self.state = State::Plays;
        }
        now + (self.buffered + self.spec.segment - self.spec.buffer).max(Span::ZERO)
    }

    /// The player plays, or waits, until this time.
    fn play(&mut self, now: Time) {
        let passed = now - self.now;
        self.now = now;
        match self.state {
            State::Begins | State::Ended => {}
            State::Stalled => self.stall_for(passed),
            State::Plays => {
                let played = passed.min(self.buffered);
                self.buffered = self.buffered - played;
                self.counters.played = self.counters.played + played;
                if passed > played {
                    self.state = State::Stalled;
                    self.counters.stalls += 1;
                    self.stall = Span::ZERO;
                    self.stall_for(passed - played);
                }
            }
        }
    }

    fn stall_for(&mut self, passed: Span) {
        self.stall = self.stall + passed;
        self.counters.stalled = self.counters.stalled + passed;
    }

    /// How long the last stall lasted, if it is over and was not asked for before.
    pub fn take_stall(&mut self) -> Option<Span> {
        let over = self.state == State::Plays && self.stall > Span::ZERO;
        over.then(|| std::mem::replace(&mut self.stall, Span::ZERO))
    }

    /// The flow ends: the player shows nothing more.
    pub fn end(&mut self, now: Time) {
        self.play(now);
        self.state = State::Ended;
    }

    /// Counting begins anew.
    pub fn start_counting(&mut self, now: Time) {
        self.play(now);
        self.counters = VideoCounters::default();
    }

    /// What the player did up to this time since counting began.
    pub fn counters(&self, now: Time) -> VideoCounters {
        let mut player = self.clone();
        player.play(now);
        player.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT_S: f64 = 4.0;

    fn spec(kbps: &[u32], choice: VideoChoiceName) -> VideoSpec {
        let bps: Vec<u32> = kbps.iter().map(|kbps| kbps * 1000).collect();
        let buffer = Span::from_secs(30);
        VideoSpec { rates: Ladder::of(&bps), segment: SEGMENT, buffer, start_at: SEGMENT, choice }
    }

    /// What a player does in a time over a line without delay whose capacity is constant.
    fn over_line(spec: VideoSpec, line_bps: f64, seconds: f64) -> VideoCounters {
        let mut player = Player::new(spec).expect("a video");
        let (mut now, end) = (Time::ZERO, Time::ZERO + Span::from_secs_f64(seconds));
        while now < end {
            let bits = 8.0 * player.request(now) as f64;
            now = player.on_segment(now + Span::from_secs_f64(bits / line_bps));
        }
        player.counters(now)
    }

    /// A segment of 4 s comes every 4 r / C seconds: the player stalls for 1 - C / r of the time, from the first on.
    #[test]
    fn a_line_that_is_too_slow_stalls_for_the_rest() {
        for line_bps in [1e6, 2e6, 2.9e6] {
            let of = over_line(spec(&[3000], VideoChoiceName::Throughput), line_bps, 10_000.0);
            let (played, stalled) = (of.played.as_secs_f64(), of.stalled.as_secs_f64());
            let ratio = stalled / (played + stalled);
            assert!((ratio - (1.0 - line_bps / 3e6)).abs() < 1e-3, "{line_bps}: {ratio}");
            assert!(of.stalls + 1 >= of.segments - 1, "each segment but the first ends a stall");
            let start_up = of.start_up.expect("a start").as_secs_f64();
            assert!((start_up - SEGMENT_S * 3e6 / line_bps).abs() < 1e-6);
        }
    }

    /// On a fast line nothing stalls, and the player has played all but what is in the full buffer.
    #[test]
    fn a_fast_line_fills_the_buffer() {
        let of = over_line(spec(&[3000], VideoChoiceName::Throughput), 30e6, 1000.0);
        assert_eq!((of.stalls, of.stalled, of.switches), (0, Span::ZERO, 0));
        let had = of.segments as f64 * SEGMENT_S - of.played.as_secs_f64();
        assert!((26.0 - 1e-6..=30.0).contains(&had), "{had}");
    }

    /// The highest rate below 0.85 of the line.
    #[test]
    fn throughput_chooses_the_rate_below_the_line() {
        for (line_bps, expected_bps) in [(1e6, 750e3), (3e6, 2350e3), (50e6, 5800e3), (1e5, 235e3)]
        {
            let of = over_line(spec(&LADDER_KBPS, VideoChoiceName::Throughput), line_bps, 4000.0);
            let mean = of.rates_bps as f64 / of.segments as f64;
            // All but the first.
            let error = expected_bps / of.segments as f64;
            assert!((mean - expected_bps).abs() <= error, "{line_bps}: {mean}");
        }
    }

    /// The buffer stays in the cushion, so that video comes as fast as it is played: the mean rate is the line's, but for one
    /// buffer of video. (Between the last two rates it would fill: a request comes with 26 of 30 s at most.)
    #[test]
    fn the_buffer_chooses_the_line_rate_in_the_mean() {
        for line_bps in [0.5e6, 1.3e6, 2.7e6, 4e6] {
            let of = over_line(spec(&LADDER_KBPS, VideoChoiceName::Buffer), line_bps, 10_000.0);
            let mean = of.rates_bps as f64 / of.segments as f64;
            assert!((mean / line_bps - 1.0).abs() < 30.0 / 10_000.0, "{line_bps}: {mean}");
            assert_eq!(of.stalls, 0);
        }
    }

    #[test]
    fn counting_begins_anew_and_ends() {
        let mut player = Player::new(spec(&[1000], VideoChoiceName::Buffer)).expect("a video");
        let at = |s| Time::ZERO + Span::from_secs(s);
        player.request(at(0));
        player.on_segment(at(1));
        player.start_counting(at(2));
        let of = player.counters(at(7));
        assert_eq!((of.played, of.stalls), (Span::from_secs(3), 1));
        assert_eq!((of.stalled, of.start_up), (Span::from_secs(2), None));
        player.end(at(8));
        assert_eq!(player.counters(at(100)).stalled, Span::from_secs(3));
    }

    /// A change counts with the segment that has the other rate, when that one has come: not before, and not less because
    /// counting began between the two.
    #[test]
    fn a_change_of_rate_counts_with_its_segment() {
        let mut player =
            Player::new(spec(&[1000, 5000], VideoChoiceName::Throughput)).expect("a video");
        let at = |s| Time::ZERO + Span::from_secs(s);
        // 4 Mb in 0.1 s: the next segment has the higher rate.
        player.request(at(0));
        player.on_segment(Time::ZERO + Span::from_millis(100));
        assert_eq!(player.counters(at(1)).switches, 0);
        assert_eq!(player.request(at(1)), 2_500_000);
        assert_eq!((player.counters(at(1)).segments, player.counters(at(1)).switches), (1, 0));
        player.start_counting(at(2));
        player.on_segment(at(2));
        let of = player.counters(at(2));
        assert_eq!((of.segments, of.switches), (1, 1));
    }

    #[test]
    fn impossible_videos_are_refused() {
        let fine = spec(&[1000], VideoChoiceName::Buffer);
        let refused = |video| Player::new(video).expect_err("refused");
        assert_eq!(refused(spec(&[], VideoChoiceName::Buffer)), VideoError::Rates);
        assert_eq!(refused(spec(&[2, 1], VideoChoiceName::Buffer)), VideoError::Rates);
        assert_eq!(refused(VideoSpec { buffer: Span::from_secs(3), ..fine }), VideoError::Buffer);
        assert_eq!(refused(VideoSpec { start_at: fine.buffer, ..fine }), VideoError::Buffer);
        assert_eq!(
            refused(VideoSpec { segment: Span::from_nanos(1), ..fine }),
            VideoError::Segment
        );
    }
}
