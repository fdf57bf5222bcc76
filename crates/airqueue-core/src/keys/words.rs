//! Registries: lists of items that files call by a word, each with its own description.

use schemars::{Schema, json_schema};
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// An item that files call by a word. [`crate::words`] makes such a type from a list.
pub trait Word: Copy + 'static {
    /// Description of the whole type, for the schema.
    const WHAT: &'static str;
    /// All words, in the order of the list.
    const WORDS: &'static [&'static str];
    /// All values, in the order of [`Self::WORDS`].
    const ALL: &'static [Self];

    /// The word in files.
    fn word(self) -> &'static str;

    /// Description of the value, for the schema.
    fn about(self) -> &'static str;

    /// The value of `word`.
    fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.word() == word)
    }
}

/// Defines an enum from a list of words, one line each: the word in files, the variant, and the description for the
/// schema, which may be a constant. The enum implements [`Word`], reads and writes its words with serde, and has a JSON
/// Schema.
///
/// ```
/// airqueue_core::words! {
///     /// A colour.
///     pub enum Colour: "A colour" {
///         red: Red, "Like a rose.";
///         dark_blue: DarkBlue, "Like the sky at night.";
///     }
/// }
/// use airqueue_core::keys::Word;
/// assert_eq!(Colour::named("dark_blue"), Some(Colour::DarkBlue));
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $Name:ident: $what:literal {
            $( $word:ident: $Variant:ident, $about:expr; )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $Name {
            $(
                #[doc = concat!("The word `", stringify!($word), "`.")]
                $Variant,
            )+
        }

        impl $crate::keys::Word for $Name {
            const WHAT: &'static str = $what;
            const WORDS: &'static [&'static str] = &[$( stringify!($word) ),+];
            const ALL: &'static [$Name] = &[$( $Name::$Variant ),+];

            fn word(self) -> &'static str {
                match self {
                    $( $Name::$Variant => stringify!($word), )+
                }
            }

            fn about(self) -> &'static str {
                match self {
                    $( $Name::$Variant => $about, )+
                }
            }
        }

        impl<'de> $crate::keys::expanded::serde::Deserialize<'de> for $Name {
            fn deserialize<D>(deserializer: D) -> ::std::result::Result<$Name, D::Error>
            where
                D: $crate::keys::expanded::serde::Deserializer<'de>,
            {
                $crate::keys::expanded::read(deserializer)
            }
        }

        impl $crate::keys::expanded::serde::Serialize for $Name {
            fn serialize<S>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error>
            where
                S: $crate::keys::expanded::serde::Serializer,
            {
                serializer.serialize_str($crate::keys::Word::word(*self))
            }
        }

        impl $crate::keys::expanded::schemars::JsonSchema for $Name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($Name).into()
            }

            fn json_schema(
                _: &mut $crate::keys::expanded::schemars::SchemaGenerator,
            ) -> $crate::keys::expanded::schemars::Schema {
                $crate::keys::expanded::schema::<$Name>()
            }
        }
    };
}

struct WordVisitor<W>(PhantomData<W>);

impl<W: Word> Visitor<'_> for WordVisitor<W> {
    type Value = W;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a word, such as {:?}", W::WORDS[0])
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<W, E> {
        W::named(text).ok_or_else(|| E::unknown_variant(text, W::WORDS))
    }
}

/// Reads a word of a file.
pub fn read<'de, W: Word, D: Deserializer<'de>>(deserializer: D) -> Result<W, D::Error> {
    deserializer.deserialize_str(WordVisitor(PhantomData))
}

/// The schema of a word.
pub fn schema<W: Word>() -> Schema {
    let one = |&word: &W| json_schema!({ "description": word.about(), "type": "string", "const": word.word() });
    let all: Vec<Schema> = W::ALL.iter().map(one).collect();
    json_schema!({ "description": format!("{}.", W::WHAT), "oneOf": all })
}

#[cfg(test)]
mod tests {
    use super::Word;

    crate::words! {
        /// A colour.
        enum Colour: "A colour" {
            red: Red, "Like a rose.";
            dark_blue: DarkBlue, "Like the sky at night.";
        }
    }

    #[test]
    fn words_are_read_and_others_are_refused_with_the_list() {
        for colour in Colour::ALL {
            let text = serde_json::Value::from(colour.word());
            assert_eq!(serde_json::to_value(colour).unwrap(), text);
            assert_eq!(serde_json::from_value::<Colour>(text).unwrap(), *colour);
        }
        let refused = serde_json::from_str::<Colour>("\"blue\"").unwrap_err().to_string();
        assert!(refused.contains("`red`") && refused.contains("`dark_blue`"), "{refused}");
        let refused = serde_json::from_str::<Colour>("5").unwrap_err().to_string();
        assert!(refused.contains("expected a word, such as \"red\""), "{refused}");
    }

    #[test]
    fn the_schema_has_every_word_with_its_description() {
        let schema = schemars::schema_for!(Colour);
        let schema = schema.as_value();
        assert_eq!(schema["description"], "A colour.");
        assert_eq!(schema["oneOf"][1]["const"], "dark_blue");
        assert_eq!(schema["oneOf"][1]["description"], "Like the sky at night.");
    }
}
