//! Patterns of `MATCHES`. They are compiled when they are first compared, and not with their rules: a pattern of a few characters can be compiled to
//! hundreds of KiB, and a rule can have many of them.

use std::sync::{Arc, Mutex, PoisonError};

use backoffice_core::bounded_cache::BoundedCache;
use regex_automata::Input;
use regex_automata::meta::{Cache, Regex};
use regex_automata::nfa::thompson::WhichCaptures;

/// Longest pattern, in characters.
const LONGEST: usize = 200;
/// Largest compiled pattern, in bytes for each direction in which a text is searched.
const LARGEST: usize = 256 * 1024;
/// Most working memory of a search, in bytes for each direction.
const MOST_WORKING: usize = 1024 * 1024;
/// Most working memory that a pattern keeps for its next search, in bytes.
const MOST_IDLE: usize = 32 * 1024;
/// Bytes of a cached pattern beside its automata and the idle working memory.
const ENTRY: usize = 2 * 1024;
/// Most bytes of all patterns that a node keeps.
const MOST_BYTES: u64 = 32 * 1024 * 1024;
/// Bytes of a text, and bytes of a compiled pattern, that each count once. A comparison takes the product of both numbers of steps, and a step at most
/// about ten microseconds.
const TEXT_OF_STEP: usize = 100;
const PATTERN_OF_STEP: usize = 2 * 1024;
/// Steps of a comparison with a pattern that is not valid.
pub(super) const STEPS_OF_INVALID: u32 = 128;

/// A compiled pattern.
pub(super) struct Pattern {
    regex: Regex,
    /// Bytes of the automata.
    bytes: usize,
    /// Working memory for the next search. Without it, or while another thread has it, a search allocates its own.
    idle: Mutex<Option<Cache>>,
}

impl Pattern {
    /// Compiles a pattern of at most 200 characters: in linear time for any text, without flags, and without what only captured groups would need.
    ///
    /// # Errors
    /// Says what is wrong with the pattern.
    pub(super) fn compile(text: &str) -> Result<Self, &'static str> {
        if text.chars().count() > LONGEST {
            return Err("must be a pattern of at most 200 characters");
        }
        let config = Regex::config()
            .nfa_size_limit(Some(LARGEST))
            .hybrid_cache_capacity(MOST_WORKING)
            .which_captures(WhichCaptures::Implicit)
            .onepass(false)
            .dfa(false);
        let built = Regex::builder().configure(config).build(text);
        let regex = built.map_err(|error| match error.size_limit() {
            Some(_) => "must be a smaller pattern",
            None => "must be a valid pattern",
        })?;
        Ok(Self {
            bytes: regex.memory_usage(),
            regex,
            idle: Mutex::default(),
        })
    }

    /// Returns the most bytes that the pattern holds between two searches.
    fn held(&self) -> usize {
        self.bytes + MOST_IDLE + ENTRY
    }

    /// Returns the steps of a search in this text, which grow with the text and with the pattern as the time of the search may do.
    pub(super) fn steps(&self, text: &str) -> u32 {
        let (of_text, of_pattern) = (1 + text.len() / TEXT_OF_STEP, 1 + self.bytes / PATTERN_OF_STEP);
        u32::try_from(of_text.saturating_mul(of_pattern)).unwrap_or(u32::MAX)
    }

    /// Returns whether the pattern matches a part of the text.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut working = idle.unwrap_or_else(|| self.regex.create_cache());
        let input = Input::new(text).earliest(true);
        let found = self.regex.search_half_with(&mut working, &input).is_some();
        if working.memory_usage() <= MOST_IDLE {
            *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(working);
        }
        found
    }
}

/// The patterns of all tenants that this node has compared last: at most 32 MiB, however many of them rules have.
pub(crate) struct Patterns(BoundedCache<String, Arc<Pattern>>);

impl Default for Patterns {
    fn default() -> Self {
        let patterns = BoundedCache::builder(MOST_BYTES).weigher(|text: &String, pattern: &Arc<Pattern>| {
            u32::try_from(text.len() + pattern.held()).unwrap_or(u32::MAX)
        });
        Self(patterns.build())
    }
}

impl Patterns {
    /// Returns the compiled pattern, which is compiled now if this node does not keep it.
    ///
    /// # Errors
    /// Says what is wrong with the pattern.
    pub(super) fn get(&self, text: &str) -> Result<Arc<Pattern>, &'static str> {
        if let Some(known) = self.0.get(text) {
            return Ok(known);
        }
        let compiled = Arc::new(Pattern::compile(text)?);
        self.0.insert(text.to_owned(), Arc::clone(&compiled));
        Ok(compiled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(text: &str) -> Pattern {
        Pattern::compile(text).unwrap_or_else(|reason| panic!("{text} {reason}"))
    }

    #[test]
    fn usual_patterns_are_small_enough_and_match() {
        for (text, matching, other) in [
            (
                r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$",
                "jürgen.müller@müller.example",
                "nobody@example",
            ),
            (r"^\+?(\d[ -]?){6,15}$", "+48 22 123-45-67", "call me"),
            (r"^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$", "DE89370400440532013000", "DE8937"),
            (r"(?i)\b(urgent|pilne)\b", "to jest Pilne!", "insurgent"),
            (r"^\p{Lu}\p{Ll}+([ -]\p{Lu}\p{Ll}+)*$", "Łódź Górna", "łódź"),
            (r"^\w{5}$", "aąbcć", "longer"),
            ("(a+)+$", "baaa", "aab"),
            ("a|b|", "", "unmatched"),
        ] {
            let pattern = compiled(text);
            assert!(pattern.is_match(matching), "{text}");
            assert!(pattern.is_match(matching), "{text} again");
            if other != "unmatched" {
                assert!(!pattern.is_match(other), "{text}");
            }
        }
    }

    #[test]
    fn invalid_and_large_patterns_are_rejected() {
        let reason = |text: &str| Pattern::compile(text).err();
        assert_eq!(reason("("), Some("must be a valid pattern"));
        assert_eq!(reason("((a{200}){200}){200}"), Some("must be a smaller pattern"));
        assert_eq!(reason(r"\w{100}"), Some("must be a smaller pattern"));
        assert_eq!(
            reason(&"a".repeat(201)),
            Some("must be a pattern of at most 200 characters")
        );
        assert!(Pattern::compile(&"ä".repeat(200)).is_ok());
    }

    #[test]
    fn all_patterns_together_are_bounded_by_what_they_hold() {
        let patterns = Patterns::default();
        let text = |number: usize| format!(r"\w{{4}}{number}");
        let number = usize::try_from(MOST_BYTES).expect("a size") / compiled(&text(0)).held() + 20;
        assert!(number < 300, "a small text is compiled to a large pattern: {number}");

        for number in 0..number {
            assert!(patterns.get(&text(number)).is_ok());
        }
        (0..10).for_each(|_| patterns.0.run_pending_tasks());

        let kept = patterns.0.entries();
        let bytes: usize = kept.iter().map(|(text, pattern)| text.len() + pattern.held()).sum();
        assert!(bytes <= usize::try_from(MOST_BYTES).expect("a size"), "{bytes}");
        assert!(!kept.is_empty() && kept.len() < number, "{}", kept.len());
    }

    #[test]
    fn large_working_memory_is_not_kept() {
        let slow = compiled("(a{1,50}b?){1,20}c");
        let fast = compiled("^[a-z]{1,20}$");

        assert!(!slow.is_match(&"a".repeat(4000)) && fast.is_match("abc"));

        let is_idle = |pattern: &Pattern| pattern.idle.lock().expect("no panic").is_some();
        assert_eq!((is_idle(&slow), is_idle(&fast)), (false, true));
    }

    #[test]
    fn steps_grow_with_the_text_and_with_the_pattern() {
        let (small, large) = (compiled("^ab?c"), compiled(r"\w{5}"));
        let long = "a".repeat(10_000);
        assert!(small.steps("abc") <= 2 && small.steps(&long) <= 250);
        assert!(large.steps("abc") > 50 && large.steps(&long) > 5000);
    }
}
