//! Equivalent spellings of units.

/// Which letters of a kind's units may be in the other case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// No letters: `mW` is not `MW`.
    Exact,
    /// All letters: `KB` and `MS` are unambiguous.
    Any,
    /// All letters except the `b` of bits: `MB/s` is bytes per second to most people.
    Bits,
}

impl Case {
    /// Whether the case of a letter of a unit's name, before `next`, matters.
    fn exact(self, letter: char, next: Option<char>) -> bool {
        match self {
            Case::Exact => true,
            Case::Any => false,
            // In "bit" the letter is unambiguous.
            Case::Bits => letter == 'b' && next != Some('i'),
        }
    }

    /// The letters of `name`, and whether the case of each matters.
    fn letters(self, name: &str) -> impl Iterator<Item = (char, bool)> {
        let next = name.chars().skip(1).map(Some).chain([None]);
        name.chars().zip(next).map(move |(letter, next)| (letter, self.exact(letter, next)))
    }

    /// Whether `written` is the unit called `name`.
    pub fn same(self, written: &str, name: &str) -> bool {
        // The micro sign and the Greek letter mu are different characters.
        let mut found = written.chars().map(|letter| if letter == 'μ' { 'µ' } else { letter });
        let all = self.letters(name).all(|(letter, exact)| {
            found.next().is_some_and(|found| {
                if exact { found == letter } else { found.eq_ignore_ascii_case(&letter) }
            })
        });
        all && found.next().is_none()
    }

    /// A regular expression for these spellings.
    pub fn pattern(self, name: &str) -> String {
        let one = |(letter, exact): (char, bool)| match letter {
            'µ' => "[µμ]".to_owned(),
            _ if exact || !letter.is_ascii_alphabetic() => letter.to_string(),
            _ => format!("[{}{}]", letter.to_ascii_lowercase(), letter.to_ascii_uppercase()),
        };
        self.letters(name).map(one).collect()
    }
}
