//! What companies and people share: deals link to them, and lose these links when they are deleted.

use backoffice_core::Result;
use backoffice_core::command::{EntityRef, LINKS, Snapshot, Snapshots, Tx};
use backoffice_core::crud::Record;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::DEAL;
use super::cleared::ClearedReference;
use super::deal_sets::{DealSet, End, Link};
use super::restored_owners::{self, HasOwner};

/// Rows that are deleted with a party, or cleared: the links of deals to it, and the references of other rows.
pub(super) type Tree = (Vec<Link>, Vec<ClearedReference>);

/// Returns the snapshots of rows, deep ones with a tree.
pub(super) fn snapshots<R: Record + Serialize>(set: &DealSet, rows: &[R], tree: Option<&Tree>) -> Result<Snapshots> {
    let snapshot = |row: &R| {
        let (id, snapshot) = (row.id(), Snapshot::of(row)?);
        let Some((links, references)) = tree else {
            return Ok((id, snapshot));
        };
        let links: Vec<&Link> = links.iter().filter(|link| link.party_id == id).collect();
        let references: Vec<_> = references.iter().filter(|one| one.value == id).collect();
        let snapshot = snapshot.with_children(set.kind, &links)?;
        Ok((id, snapshot.with_field(LINKS, json!(references))))
    };
    rows.iter().map(snapshot).collect()
}

/// Removes restored owners who are deleted or not active from the rows, and returns their references.
pub(super) async fn leave_out_owners<R: Record + HasOwner>(tx: &mut Tx<'_>, rows: &mut [R]) -> Result<Vec<String>> {
    let ids: Vec<Uuid> = rows.iter().map(Record::id).collect();
    let stored = R::read(tx, &ids).await?;
    let dropped = restored_owners::leave_out(tx, rows, &stored).await?;
    Ok(dropped.into_iter().collect())
}

/// Restores the links of deals to rows with deep snapshots, and returns the deals that are left out.
pub(super) async fn restore_links<R: Record>(
    tx: &mut Tx<'_>,
    set: &DealSet,
    rows: &[R],
    snapshots: &[Snapshot],
) -> Result<Vec<String>> {
    let (mut ids, mut links) = (Vec::new(), Vec::new());
    for (row, snapshot) in rows.iter().zip(snapshots) {
        if let Some(own) = snapshot.children::<Link>(set.kind)? {
            ids.push(row.id());
            links.extend(own);
        }
    }
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let dropped = set.restore(tx, End::Party, &ids, &links).await?;
    set.touch_deals(tx, &ids).await?;
    Ok(dropped)
}

/// Returns the deals whose links are part of a snapshot.
pub(super) fn linked_deals(set: &DealSet, snapshot: &Snapshot) -> impl Iterator<Item = EntityRef> + use<> {
    let links = snapshot.children::<Link>(set.kind).ok().flatten();
    links.into_iter().flatten().map(|link| EntityRef {
        kind: DEAL,
        id: link.deal_id,
    })
}
