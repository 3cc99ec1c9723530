//! Who goes on at the interesting places. The main trait is [`Schedule`].
//!
//! The protocol's code names the places where another call may come in between: [`Schedule::point`]. On a [`Free`]
//! schedule, which is the usual one, a point does nothing and threads run as the system lets them. In a [`Round`] the
//! registered calls run one at a time, and at each point a seeded generator says who goes on, so that an interleaving
//! can be repeated from its seed. Waiting for another call goes through [`Schedule::wait`], which passes the turn on:
//! a round cannot deadlock as long as the calls themselves do not.

use crate::lock;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Something that rings when what others wait for may have come true.
#[derive(Debug, Default)]
pub struct Bell {
    rung: Mutex<u64>,
    changed: Condvar,
}

impl Bell {
    /// Wakes all who wait.
    pub fn ring(&self) {
        *lock(&self.rung) += 1;
        self.changed.notify_all();
    }

    /// How often it has rung.
    pub fn count(&self) -> u64 {
        *lock(&self.rung)
    }

    /// Blocks until it has rung more often than `seen`.
    pub fn wait_past(&self, seen: u64) {
        let mut rung = lock(&self.rung);
        while *rung == seen {
            rung = self.changed.wait(rung).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What goes on by itself, without a call that is open.
#[derive(Debug, Default)]
pub struct Busy {
    working: Mutex<usize>,
    changed: Condvar,
}

impl Busy {
    /// Something goes on until what this gives is dropped.
    pub fn begin(self: &Arc<Busy>) -> Working {
        *lock(&self.working) += 1;
        Working(Arc::clone(self))
    }

    /// Blocks until nothing goes on, but no longer than `limit`; whether it is so.
    pub fn at_rest(&self, limit: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(lock(&self.working), limit, |working| *working > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }
}

/// Something that goes on; see [`Busy::begin`].
#[derive(Debug)]
pub struct Working(Arc<Busy>);

impl Drop for Working {
    fn drop(&mut self) {
        *lock(&self.0.working) -= 1;
        self.0.changed.notify_all();
    }
}

/// What a running call asks its schedule. The default runs on at every point.
pub trait Schedule: Send + Sync {
    /// A place with a name at which another call may go on instead.
    fn point(&self, _name: &'static str) {}

    /// Blocks until `ready` says so. It is asked by this thread only, again each time the bell has rung, and may take
    /// what it finds: once it has said true it is not asked again.
    fn wait(&self, bell: &Arc<Bell>, ready: &mut dyn FnMut() -> bool) {
        loop {
            let seen = bell.count();
            if ready() {
                return;
            }
            bell.wait_past(seen);
        }
    }

    /// A schedule for work that this call leaves to another thread.
    fn fork(&self) -> Box<dyn Schedule>;
}

/// No schedule: threads run as they like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Free;

impl Schedule for Free {
    fn fork(&self) -> Box<dyn Schedule> {
        Box::new(Free)
    }
}

/// `n` calls that start together and run one at a time, in an order that the seed decides.
#[derive(Debug)]
pub struct Round {
    state: Mutex<State>,
    turned: Condvar,
}

#[derive(Debug)]
struct State {
    expected: usize,
    /// What each call that has come is, to number them alike in every run; emptied when the round starts.
    arrived: Vec<Arrival>,
    /// By seat number.
    seats: Vec<Position>,
    turn: Option<usize>,
    random: u64,
    trace: Vec<(usize, &'static str)>,
}

#[derive(Debug)]
struct Arrival {
    label: String,
    seat: Option<usize>,
}

#[derive(Debug)]
enum Position {
    Ready,
    /// Waits for a bell that had rung so often.
    Waiting(Arc<Bell>, u64),
    Gone,
}

impl Round {
    /// A round that starts when `calls` calls have [joined](Round::join).
    pub fn new(seed: u64, calls: usize) -> Arc<Round> {
        let state = State {
            expected: calls,
            arrived: Vec::new(),
            seats: Vec::new(),
            turn: None,
            random: seed,
            trace: Vec::new(),
        };
        Arc::new(Round { state: Mutex::new(state), turned: Condvar::new() })
    }

    /// Takes part as the call that `label` describes and blocks until the round has started and it is this call's turn.
    /// Seats are numbered in the order of the labels, not of arrival, so that the same calls and the same seed give the
    /// same interleaving; calls with equal labels are interchangeable.
    pub fn join(self: &Arc<Round>, label: String) -> Seat {
        let mut state = lock(&self.state);
        let me = state.arrived.len();
        state.arrived.push(Arrival { label, seat: None });
        if state.arrived.len() == state.expected {
            let mut order: Vec<usize> = (0..state.expected).collect();
            order.sort_by(|a, b| state.arrived[*a].label.cmp(&state.arrived[*b].label));
            for (seat, arrival) in order.into_iter().enumerate() {
                state.arrived[arrival].seat = Some(seat);
                state.seats.push(Position::Ready);
            }
            state.turn = state.pick();
            self.turned.notify_all();
        }
        loop {
            match state.arrived[me].seat {
                Some(seat) if state.turn == Some(seat) => return Seat { round: Arc::clone(self), number: seat },
                _ => state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Every point that was passed so far, with the seat that came to it.
    pub fn trace(&self) -> Vec<(usize, &'static str)> {
        lock(&self.state).trace.clone()
    }
}

impl State {
    /// Who is next, of those who can go on.
    fn pick(&mut self) -> Option<usize> {
        let able: Vec<usize> = (0..self.seats.len())
            .filter(|seat| match &self.seats[*seat] {
                Position::Ready => true,
                Position::Waiting(bell, seen) => bell.count() != *seen,
                Position::Gone => false,
            })
            .collect();
        if able.is_empty() { None } else { Some(able[self.next_random() as usize % able.len()]) }
    }

    /// SplitMix64: small, and good enough to choose among a handful of calls.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) >> 1
    }
}

/// One call's place in a [`Round`]. Dropping it passes the turn on.
#[derive(Debug)]
pub struct Seat {
    round: Arc<Round>,
    number: usize,
}

impl Seat {
    fn await_turn<'s>(&'s self, mut state: MutexGuard<'s, State>) {
        while state.turn != Some(self.number) {
            state = self.round.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.seats[self.number] = Position::Ready;
    }
}

impl Schedule for Seat {
    fn point(&self, name: &'static str) {
        let mut state = lock(&self.round.state);
        // Work that was forked comes to its first point without having had a turn.
        if state.turn == Some(self.number) {
            state.trace.push((self.number, name));
            state.turn = state.pick();
            self.round.turned.notify_all();
        }
        self.await_turn(state);
    }

    fn wait(&self, bell: &Arc<Bell>, ready: &mut dyn FnMut() -> bool) {
        loop {
            let seen = bell.count();
            if ready() {
                return;
            }
            let mut state = lock(&self.round.state);
            state.seats[self.number] = Position::Waiting(Arc::clone(bell), seen);
            match state.pick() {
                Some(next) => {
                    state.turn = Some(next);
                    self.round.turned.notify_all();
                    self.await_turn(state);
                }
                // All wait for something outside the round: keep the turn and listen for all.
                None => {
                    state.seats[self.number] = Position::Ready;
                    drop(state);
                    bell.wait_past(seen);
                }
            }
        }
    }

    fn fork(&self) -> Box<dyn Schedule> {
        let mut state = lock(&self.round.state);
        state.seats.push(Position::Ready);
        let number = state.seats.len() - 1;
        Box::new(Seat { round: Arc::clone(&self.round), number })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = lock(&self.round.state);
        state.seats[self.number] = Position::Gone;
        if state.turn == Some(self.number) {
            // Where all others wait, one of them has to be the one that listens.
            let waiting = |position: &Position| matches!(position, Position::Waiting(..));
            state.turn = state.pick().or_else(|| state.seats.iter().position(waiting));
            self.round.turned.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn run(seed: u64) -> Vec<(usize, &'static str)> {
        let round = Round::new(seed, 3);
        thread::scope(|scope| {
            for label in ["b", "a", "c"] {
                let round = Arc::clone(&round);
                scope.spawn(move || {
                    let seat = round.join(label.to_owned());
                    for name in ["one", "two", "three"] {
                        seat.point(name);
                    }
                });
            }
        });
        round.trace()
    }

    #[test]
    fn a_seed_gives_one_interleaving() {
        let traces: std::collections::HashSet<_> = (0..40).map(run).collect();
        assert!(traces.len() > 20, "{} interleavings", traces.len());
        for seed in 0..40 {
            assert_eq!(run(seed), run(seed));
        }
    }

    #[test]
    fn who_waits_lets_others_go_on() {
        for seed in 0..50 {
            let round = Round::new(seed, 3);
            let bell = Arc::new(Bell::default());
            let open = Mutex::new(false);
            thread::scope(|scope| {
                for label in ["waits", "waits", "opens"] {
                    let (round, bell, open) = (Arc::clone(&round), Arc::clone(&bell), &open);
                    scope.spawn(move || {
                        let seat = round.join(label.to_owned());
                        seat.point("start");
                        if label == "opens" {
                            *lock(open) = true;
                            bell.ring();
                        } else {
                            seat.wait(&bell, &mut || *lock(open));
                        }
                        seat.point("end");
                    });
                }
            });
            assert_eq!(round.trace().len(), 6);
        }
    }

    #[test]
    fn a_round_can_wait_for_the_outside() {
        let round = Round::new(7, 2);
        let bell = Arc::new(Bell::default());
        let open = Mutex::new(false);
        thread::scope(|scope| {
            for label in ["a", "b"] {
                let (round, bell, open) = (Arc::clone(&round), Arc::clone(&bell), &open);
                scope.spawn(move || round.join(label.to_owned()).wait(&bell, &mut || *lock(open)));
            }
            *lock(&open) = true;
            bell.ring();
        });
    }

    #[test]
    fn forked_work_takes_part() {
        let orders: std::collections::HashSet<_> = (0..40)
            .map(|seed| {
                let round = Round::new(seed, 1);
                let seat = round.join("call".to_owned());
                let forked = seat.fork();
                let worker = thread::spawn(move || {
                    forked.point("begin");
                    forked.point("work");
                });
                seat.point("after fork");
                seat.point("end");
                drop(seat);
                worker.join().unwrap();
                round.trace()
            })
            .collect();
        assert!(orders.len() > 1);
    }
}
