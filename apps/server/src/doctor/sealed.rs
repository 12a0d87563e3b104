//! The sealed values of the compiled modules, and the keys that they need.

use backoffice_core::vault::{SealedColumn, SealedState};

use super::{Report, Verdict};

/// Reports which keys the sealed values need.
pub(super) fn check(report: &mut Report, states: &[SealedState]) {
    for state in states {
        check_column(report, state);
    }
    if !states.is_empty() && states.iter().all(|state| state.older == 0 && state.unreadable == 0) {
        let text = "no value of the modules of this program needs an older key; keep older keys if another program with further modules sealed \
                    values in this database";
        report.add(Verdict::Ok, "vault", text);
    }
}

fn check_column(report: &mut Report, state: &SealedState) {
    let (SealedColumn { table, column }, values) = (state.column, state.values);
    let (verdict, text) = match (state.unreadable, state.older, state.disabled_module) {
        (0, 0, _) => (Verdict::Ok, "all with the first key".to_owned()),
        (0, older, _) => (
            Verdict::Warn,
            format!("{older} with an older key, which a background job replaces; keep that key"),
        ),
        (unreadable, _, None) => (
            Verdict::Fail,
            format!("{unreadable} can't be opened; `vault.keys` lacks their key"),
        ),
        (unreadable, _, Some(module)) => (
            Verdict::Warn,
            format!("{unreadable} can't be opened; add their key to `vault.keys` before `{module}` is enabled again"),
        ),
    };
    let owner = state
        .disabled_module
        .map_or_else(String::new, |module| format!(" of the disabled module `{module}`"));
    report.add(
        verdict,
        "vault",
        format!("{values} sealed values in {table}.{column}{owner}: {text}"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(older: u64, unreadable: u64, disabled_module: Option<&'static str>) -> SealedState {
        let column = SealedColumn {
            table: "devices_devices",
            column: "push_token",
        };
        SealedState {
            column,
            disabled_module,
            values: 3,
            older,
            unreadable,
        }
    }

    fn verdicts(states: &[SealedState]) -> Vec<(Verdict, String)> {
        let mut report = Report::default();
        check(&mut report, states);
        report
            .0
            .into_iter()
            .map(|finding| (finding.verdict, finding.text))
            .collect()
    }

    #[test]
    fn older_keys_are_needed_as_long_as_a_value_of_a_disabled_module_has_one() {
        let found = verdicts(&[state(0, 0, None), state(2, 0, Some("devices"))]);

        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].0, Verdict::Ok);
        let (verdict, text) = &found[1];
        assert_eq!(*verdict, Verdict::Warn);
        assert!(
            text.contains("disabled module `devices`") && text.contains("keep that key"),
            "{text}"
        );
    }

    #[test]
    fn a_missing_key_fails_the_check_if_an_enabled_module_needs_it() {
        assert_eq!(verdicts(&[state(3, 3, None)])[0].0, Verdict::Fail);
        assert_eq!(verdicts(&[state(3, 3, Some("devices"))])[0].0, Verdict::Warn);
    }

    #[test]
    fn older_keys_are_not_needed_if_all_values_have_the_first_one() {
        let found = verdicts(&[state(0, 0, None), state(0, 0, Some("devices"))]);

        assert!(found.iter().all(|(verdict, _)| *verdict == Verdict::Ok), "{found:?}");
        assert!(
            found
                .last()
                .is_some_and(|(_, text)| text.contains("needs an older key")),
            "{found:?}"
        );
    }
}
