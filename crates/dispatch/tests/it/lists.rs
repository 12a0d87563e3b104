//! Lists of job sites and assignments.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ASSIGNMENTS, Fixture, JOB_SITES, RESOURCES, codes};

const DAY: &str = "from=2026-01-06T00:00:00Z&to=2026-01-07T00:00:00Z";

#[actix_web::test]
async fn job_sites_are_searched_and_filtered() {
    let fixture = Fixture::new().await;
    let planned = json!({"name": "Bridge", "code": "x-77", "status": "planned", "startDate": "2026-02-01", "endDateExclusive": "2026-03-01"});
    let planned = fixture.create(JOB_SITES, planned).await;
    let all = [planned, fixture.s1, fixture.s2];

    assert_eq!(fixture.listed(JOB_SITES).await, all);
    assert_eq!(fixture.listed(&format!("{JOB_SITES}?search=X-7")).await, [planned]);
    assert_eq!(fixture.listed(&format!("{JOB_SITES}?search=rid")).await, [planned]);
    assert_eq!(fixture.listed(&format!("{JOB_SITES}?status=planned")).await, [planned]);
    assert_eq!(
        fixture
            .listed(&format!("{JOB_SITES}?ids={planned},{}", fixture.s2))
            .await,
        [planned, fixture.s2]
    );
    // A site without dates has work on every day.
    assert_eq!(fixture.listed(&format!("{JOB_SITES}?from=2026-03-01")).await, all[1..]);
    assert_eq!(fixture.listed(&format!("{JOB_SITES}?to=2026-02-01")).await, all[1..]);
    assert_eq!(
        fixture
            .listed(&format!("{JOB_SITES}?from=2026-02-28&to=2026-03-01"))
            .await,
        all
    );
    for query in ["status=open", "from=2026-2-1", "page=0", "pageSize=101", "ids=x"] {
        let (status, rejection) = fixture.app.get(&fixture.a.token, &format!("{JOB_SITES}?{query}")).await;
        assert_eq!((status, &rejection["code"]), (400, &json!("invalid_query")), "{query}");
    }
}

#[actix_web::test]
async fn assignments_of_an_interval_are_listed_by_start() {
    let fixture = Fixture::new().await;
    let late = fixture.assign("20:00", "21:00").await;
    let early = fixture.assign("08:00", "12:00").await;
    let list = |from: &str, to: &str| format!("{ASSIGNMENTS}?from=2026-01-06T{from}:00Z&to=2026-01-06T{to}:00Z");

    assert_eq!(fixture.listed(&list("00:00", "23:59")).await, [early, late]);
    assert_eq!(fixture.listed(&list("12:00", "20:00")).await, Vec::<Uuid>::new());
    assert_eq!(fixture.listed(&list("11:59", "20:01")).await, [early, late]);
    let page = fixture.get(&format!("{ASSIGNMENTS}?{DAY}&pageSize=1&page=2")).await;
    assert_eq!((&page["items"][0]["id"], &page["total"]), (&json!(late), &json!(2)));
}

#[actix_web::test]
async fn assignments_are_filtered() {
    let fixture = Fixture::new().await;
    let van = fixture
        .create(RESOURCES, json!({"type": "vehicle", "name": "Van"}))
        .await;
    let first = fixture.assign("08:00", "12:00").await;
    let mut body = fixture.at("09:00", "10:00");
    (body["subjectType"], body["subjectId"]) = (json!("vehicle"), json!(van));
    (body["jobSiteId"], body["status"]) = (json!(fixture.s2), json!("completed"));
    let second = fixture.create(ASSIGNMENTS, body).await;
    let nothing: Vec<Uuid> = Vec::new();

    for (query, expected) in [
        (format!("jobSiteIds={}", fixture.s2), vec![second]),
        ("jobSiteIds=".to_owned(), nothing.clone()),
        (format!("jobSiteIds={}", Uuid::from_u128(1)), nothing),
        ("subjectType=equipment".to_owned(), vec![first]),
        (format!("subjectIds={van},{}", fixture.e1), vec![first, second]),
        ("statuses=completed,cancelled".to_owned(), vec![second]),
    ] {
        assert_eq!(
            fixture.listed(&format!("{ASSIGNMENTS}?{DAY}&{query}")).await,
            expected,
            "{query}"
        );
    }
    assert_eq!(fixture.listed(&format!("{ASSIGNMENTS}?ids={second}")).await, [second]);
    assert_eq!(fixture.listed(&format!("{ASSIGNMENTS}?id={first}")).await, [first]);
}

#[actix_web::test]
async fn a_list_of_assignments_needs_an_interval_of_at_most_400_days() {
    let fixture = Fixture::new().await;

    for query in [
        "",
        "from=2026-01-06T00:00:00Z",
        "to=2026-01-06T00:00:00Z",
        "from=2026-01-06&to=2026-01-07",
        "from=2026-01-07T00:00:00Z&to=2026-01-06T00:00:00Z",
        "from=2026-01-01T00:00:00Z&to=2027-02-05T00:00:00.001Z",
        &format!("{DAY}&statuses=done"),
        &format!("{DAY}&subjectType=crane"),
        &format!("{DAY}&hasConflicts=2"),
        &format!("{DAY}&subjectIds=x"),
        &format!("{DAY}&pageSize=101"),
    ] {
        let (status, rejection) = fixture
            .app
            .get(&fixture.a.token, &format!("{ASSIGNMENTS}?{query}"))
            .await;
        assert_eq!((status, &rejection["code"]), (400, &json!("invalid_query")), "{query}");
    }
    for (path, expected) in [
        (
            format!("{ASSIGNMENTS}?{DAY}&statuses=done&hasConflicts=2&pageSize=x&page=0"),
            vec!["hasConflicts", "page", "pageSize", "statuses"],
        ),
        (
            format!("{ASSIGNMENTS}?id=x&statuses=done&subjectType=crane"),
            vec!["id", "statuses", "subjectType"],
        ),
        (
            format!("{JOB_SITES}?status=open&from=x&page=x&tenantId=zz"),
            vec!["from", "page", "status", "tenantId"],
        ),
        (
            format!("{RESOURCES}?type=crane&isActive=2&availableTo=x&tenantId=zz"),
            vec!["availableFrom", "availableTo", "isActive", "tenantId", "type"],
        ),
    ] {
        let (status, rejection) = fixture.app.get(&fixture.a.token, &path).await;
        let mut paths: Vec<&str> = codes(&rejection).1.into_iter().map(|(path, _)| path).collect();
        paths.sort_unstable();
        assert_eq!((status, paths), (400, expected), "{path}");
    }
    let longest = "from=2026-01-01T00:00:00Z&to=2027-02-05T00:00:00Z";
    assert_eq!(
        fixture.listed(&format!("{ASSIGNMENTS}?{longest}")).await,
        Vec::<Uuid>::new()
    );
}

#[actix_web::test]
async fn an_unchanged_list_is_not_sent_again() {
    let fixture = Fixture::new().await;
    let path = format!("{ASSIGNMENTS}?{DAY}");
    let get = |tag: Option<String>| {
        let request = fixture
            .app
            .request(actix_web::http::Method::GET, &path)
            .bearer(&fixture.a.token);
        match tag {
            Some(tag) => request.header("If-None-Match", &tag),
            None => request,
        }
    };
    let tag = get(None).send().await.header("etag");
    assert!(tag.is_some());

    assert_eq!(get(tag.clone()).send().await.status, 304);
    fixture.assign("08:00", "12:00").await;
    let changed = get(tag).send().await;

    assert_eq!((changed.status, &changed.json()["total"]), (200, &Value::from(1)));
}
