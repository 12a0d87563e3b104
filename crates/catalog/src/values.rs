//! Rules for the values of fields, beside those that all modules share.

use backoffice_core::input::{Violation, rules};

use crate::model::{Money, Rate};

/// Types of products.
pub(crate) const PRODUCT_TYPES: &[&str] = &["simple", "configurable", "virtual"];
/// Kinds of prices.
pub(crate) const PRICE_KINDS: &[&str] = &["regular", "sale"];
/// Number of digits of an amount, decimals included.
const AMOUNT_DIGITS: u32 = 16;
const HUNDRED_PERCENT: Rate = Rate::from_units(1_000_000);

/// Accepts an amount of money that is not negative.
pub(crate) fn amount(amount: &Money) -> Result<Money, Violation> {
    if *amount < Money::default() {
        return Err(Violation::new("must be at least 0", "out_of_range"));
    }
    if !amount.fits(AMOUNT_DIGITS) {
        return Err(Violation::new("must be less than 1000000000000", "out_of_range"));
    }
    Ok(*amount)
}

/// Accepts a rate of 0 to 100 percent.
pub(crate) fn tax_rate(rate: &Rate) -> Result<Rate, Violation> {
    if (Rate::default()..=HUNDRED_PERCENT).contains(rate) {
        return Ok(*rate);
    }
    Err(Violation::new("must be between 0 and 100", "out_of_range"))
}

/// Accepts a stock keeping unit: at most 191 ASCII letters, digits, dots, hyphens and underscores.
pub(crate) fn sku(text: &str) -> Result<String, Violation> {
    of_characters(text, 191, ".-_", "letters, digits, dots, hyphens and underscores")
}

/// Accepts a name for addresses and lower-cases it: at most 150 ASCII letters, digits, hyphens and underscores.
pub(crate) fn handle(text: &str) -> Result<String, Violation> {
    let text = text.to_lowercase();
    of_characters(&text, 150, "-_", "letters, digits, hyphens and underscores")
}

fn of_characters(text: &str, max: usize, others: &str, rule: &str) -> Result<String, Violation> {
    if !text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c)) {
        return Err(Violation::invalid(format!("must consist of {rule}")));
    }
    rules::text(max)(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skus_and_handles_consist_of_their_characters() {
        assert_eq!(sku("A.b-1_"), Ok("A.b-1_".to_owned()));
        assert!(sku("a b").is_err() && sku("ä").is_err() && sku(&"x".repeat(192)).is_err());
        assert_eq!(handle("Red_Shoe-1"), Ok("red_shoe-1".to_owned()));
        assert!(handle("a.b").is_err() && handle(&"x".repeat(151)).is_err());
    }
}
