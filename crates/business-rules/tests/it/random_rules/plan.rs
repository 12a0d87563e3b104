//! Random rights, keys, rules and steps. Positions are taken modulo the number of existing things.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Features that the callers hold at random, besides those to manage and to execute rules.
pub(super) const FEATURES: [&str; 6] = [
    "customers.deals.manage",
    "catalog.products.manage",
    "directory.organizations.manage",
    "api_keys.create",
    "audit_logs.undo_self",
    "audit_logs.undo_tenant",
];
/// Number of the callers with random rights.
pub(super) const CALLERS: usize = 4;

/// A kind of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Deal,
    Product,
    Organization,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Deal, Self::Product, Self::Organization];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Deal => "customers.deal",
            Self::Product => "catalog.product",
            Self::Organization => "directory.organization",
        }
    }

    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Deal => "/customers/deals",
            Self::Product => "/catalog/products",
            Self::Organization => "/directory/organizations",
        }
    }

    pub(super) const fn table(self) -> &'static str {
        match self {
            Self::Deal => "customers_deals",
            Self::Product => "catalog_products",
            Self::Organization => "directory_organizations",
        }
    }

    /// Returns the feature that changes need.
    pub(super) const fn manage(self) -> &'static str {
        match self {
            Self::Deal => "customers.deals.manage",
            Self::Product => "catalog.products.manage",
            Self::Organization => "directory.organizations.manage",
        }
    }

    /// Returns the field whose text shows how many rules a chain has.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Deal | Self::Product => "title",
            Self::Organization => "name",
        }
    }
}

/// Where a rule, key, grant or record belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Above [`Place::B`].
    A,
    B,
    /// Beside [`Place::A`].
    C,
    /// The organization of the other tenant.
    Foreign,
}

/// Features in some organizations (`None`: in the whole tenant).
#[derive(Debug, Clone)]
pub(super) struct GrantPlan {
    pub(super) features: Vec<&'static str>,
    pub(super) places: Option<Vec<Place>>,
}

#[derive(Debug, Clone)]
pub(super) struct RulePlan {
    pub(super) editor: usize,
    pub(super) rule_type: &'static str,
    pub(super) kind: Kind,
    pub(super) place: Option<Place>,
    /// Whether its organization is rather one in which the editor manages rules.
    pub(super) is_own: bool,
    pub(super) event: Option<&'static str>,
    pub(super) condition: u8,
    pub(super) success: Vec<ActionPlan>,
    pub(super) failure: Vec<ActionPlan>,
}

#[derive(Debug, Clone)]
pub(super) enum ActionPlan {
    /// Sets the text of the record to that of the data and a mark.
    SetText,
    SetOther(u8),
    Call {
        endpoint: usize,
        key: usize,
        /// A record that exists before the rule is saved.
        target: usize,
        place: Place,
    },
    Notify(Vec<usize>),
    Emit(u8),
    Webhook(u8),
    /// A message, a veto or its lifting.
    Other(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    Create(Kind, Place),
    Update(usize),
    Delete(usize),
    /// Undoes one of the latest entries.
    Undo(usize),
    /// Executes all rules of the kind of a record, or one of them.
    Execute {
        record: usize,
        rule: Option<usize>,
    },
    /// Saves a rule again, whose editor is the caller then.
    Save(usize),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct StepPlan {
    /// Zero is the administrator, the last one that of the other tenant.
    pub(super) caller: usize,
    pub(super) act: Act,
}

/// A case.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// `business_rules.max_depth`.
    pub(super) max_depth: u64,
    /// Each caller has one or two roles.
    pub(super) callers: Vec<Vec<GrantPlan>>,
    /// The organizations of keys, each with the roles of one of the callers.
    pub(super) keys: Vec<Option<Place>>,
    pub(super) rules: Vec<RulePlan>,
    pub(super) steps: Vec<StepPlan>,
}

pub(super) fn plan() -> impl Strategy<Value = Plan> {
    let callers = prop::collection::vec(prop::collection::vec(grant(), 1..=2), CALLERS);
    let keys = prop::collection::vec(place(), CALLERS);
    let rules = prop::collection::vec(rule(), 8..=12);
    let steps = prop::collection::vec(step(), 10..=20);
    (1..=3_u64, callers, keys, rules, steps).prop_map(|(max_depth, callers, keys, rules, steps)| Plan {
        max_depth,
        callers,
        keys,
        rules,
        steps,
    })
}

fn grant() -> impl Strategy<Value = GrantPlan> {
    let places = prop_oneof![
        3 => Just(None),
        2 => Just(Some(vec![Place::A])),
        2 => Just(Some(vec![Place::B])),
        1 => Just(Some(vec![Place::C])),
        1 => Just(Some(vec![Place::B, Place::C])),
    ];
    let features = (
        subsequence(FEATURES.to_vec(), 3..=FEATURES.len()),
        prop::bool::weighted(0.85),
    );
    (features, places).prop_map(|((mut features, has_rules), places)| {
        if has_rules {
            features.extend(["business_rules.manage", "business_rules.execute"]);
        }
        GrantPlan { features, places }
    })
}

fn place() -> impl Strategy<Value = Option<Place>> {
    prop_oneof![
        4 => Just(None),
        2 => Just(Some(Place::A)),
        1 => Just(Some(Place::B)),
        1 => Just(Some(Place::C)),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![4 => Just(Kind::Deal), 3 => Just(Kind::Product), 1 => Just(Kind::Organization)]
}

fn any_place() -> impl Strategy<Value = Place> {
    prop_oneof![8 => Just(Place::A), 8 => Just(Place::B), 3 => Just(Place::C), 1 => Just(Place::Foreign)]
}

fn rule() -> impl Strategy<Value = RulePlan> {
    let rule_type = prop_oneof![
        4 => Just("ACTION"),
        1 => Just("CALCULATION"),
        1 => Just("ASSIGNMENT"),
        3 => Just("GUARD"),
        1 => Just("VALIDATION"),
    ];
    let event = prop_oneof![
        8 => Just(None),
        4 => Just(Some("updated")),
        2 => Just(Some("created")),
        1 => Just(Some("deleted")),
        1 => Just(Some("undone")),
    ];
    let place = prop_oneof![3 => Just(None), 5 => any_place().prop_map(Some)];
    let editor = prop_oneof![6 => Just(0), 12 => 1..=CALLERS, 1 => Just(CALLERS + 1)];
    // Most conditions are true.
    let condition = prop_oneof![30 => Just(0_u8), 15 => 1..6_u8, 1 => Just(6_u8)];
    let actions = |most: usize| prop::collection::vec(action(), 0..=most);
    let place = (place, prop::bool::weighted(0.7));
    let head = (editor, rule_type, kind(), place, event, condition);
    (head, actions(3), actions(1)).prop_map(|(head, success, failure)| {
        let (editor, rule_type, kind, (place, is_own), event, condition) = head;
        let (mut success, mut failure) = (success, failure);
        if ["GUARD", "VALIDATION"].contains(&rule_type) {
            // Rules that validate don't set fields.
            for branch in [&mut success, &mut failure] {
                branch.retain(|action| !matches!(action, ActionPlan::SetText));
            }
        }
        RulePlan {
            editor,
            rule_type,
            kind,
            place,
            is_own,
            event,
            condition,
            success,
            failure,
        }
    })
}

fn action() -> impl Strategy<Value = ActionPlan> {
    let one = any::<usize>;
    let call = (one(), one(), one(), any_place());
    let other = select(vec![
        "SHOW_ERROR",
        "SHOW_INFO",
        "LOG",
        "BLOCK_TRANSITION",
        "ALLOW_TRANSITION",
    ]);
    prop_oneof![
        16 => Just(ActionPlan::SetText),
        1 => any::<u8>().prop_map(ActionPlan::SetOther),
        22 => call.prop_map(|(endpoint, key, target, place)| ActionPlan::Call { endpoint, key, target, place }),
        5 => prop::collection::vec(one(), 1..5).prop_map(ActionPlan::Notify),
        4 => any::<u8>().prop_map(ActionPlan::Emit),
        4 => any::<u8>().prop_map(ActionPlan::Webhook),
        8 => other.prop_map(ActionPlan::Other),
    ]
}

fn step() -> impl Strategy<Value = StepPlan> {
    let one = any::<usize>;
    // Those of the other tenant are the last ones at first.
    let record = || prop_oneof![14 => 0..9_usize, 1 => 9..12_usize, 3 => 12..20_usize];
    let act = prop_oneof![
        3 => (kind(), any_place()).prop_map(|(kind, place)| Act::Create(kind, place)),
        12 => record().prop_map(Act::Update),
        1 => record().prop_map(Act::Delete),
        2 => (0..4_usize).prop_map(Act::Undo),
        7 => (record(), prop::option::weighted(0.6, one())).prop_map(|(record, rule)| Act::Execute { record, rule }),
        2 => one().prop_map(Act::Save),
    ];
    let caller = prop_oneof![8 => Just(0), 6 => 1..=CALLERS, 1 => Just(CALLERS + 1)];
    (caller, act).prop_map(|(caller, act)| match act {
        // The rights of an administrator would not limit an execution.
        Act::Execute { record, .. } if caller == 0 => StepPlan {
            caller: 1 + record % CALLERS,
            act,
        },
        _ => StepPlan { caller, act },
    })
}
