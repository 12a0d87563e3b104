//! Filters and order of the list of deals.

use serde_json::json;
use uuid::Uuid;

use crate::fixture::{DEALS, Fixture, detail};

#[actix_web::test]
async fn each_filter_limits_the_list() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, admin, child) = (&fixture.a, &fixture.a.admin, fixture.a.child);
    let (pipeline, stages) = fixture.pipeline(admin, child, &["New", "Offered"]).await;
    let (ada, bob) = (
        fixture.person(tenant_fixture, child, "Ada").await,
        fixture.person(tenant_fixture, child, "Bob").await,
    );
    let acme = fixture.company(tenant_fixture, child, "Acme").await;
    let one = fixture
        .deal(
            admin,
            child,
            json!({"title": "Roof 100%", "description": "Tiles", "status": "won", "pipelineStageId": stages[1], "valueAmount": 10,
                "valueCurrency": "EUR", "expectedCloseOn": "2027-01-10", "ownerUserId": tenant_fixture.local.id, "personIds": [ada, bob]}),
        )
        .await;
    let two = fixture
        .deal(
            admin,
            child,
            json!({"title": "Roof", "pipelineId": pipeline, "valueAmount": 20.5, "valueCurrency": "USD",
                "expectedCloseOn": "2027-01-20", "ownerUserId": admin.id, "personIds": [bob], "companyIds": [acme]}),
        )
        .await;
    let three = fixture
        .deal(admin, tenant_fixture.other, json!({"title": "Wall", "status": "lost"}))
        .await;
    let unknown = Uuid::from_u128(7);

    for (query, expected) in [
        (String::new(), vec![one, two, three]),
        ("search=ROOF".to_owned(), vec![one, two]),
        ("search=100%25".to_owned(), vec![one]),
        ("search=tile".to_owned(), vec![one]),
        ("search=_".to_owned(), vec![]),
        (format!("ids={one},{three},{one},{unknown}"), vec![one, three]),
        ("ids=".to_owned(), vec![]),
        ("status=won,lost".to_owned(), vec![one, three]),
        ("status=".to_owned(), vec![]),
        (format!("pipelineId={pipeline}"), vec![one, two]),
        (format!("pipelineId={pipeline},none"), vec![one, two, three]),
        (format!("pipelineStageId={}", stages[1]), vec![one]),
        ("pipelineStageId=none".to_owned(), vec![three]),
        (format!("ownerUserId={}", tenant_fixture.local.id), vec![one]),
        (
            format!("ownerUserId={},none", tenant_fixture.local.id),
            vec![one, three],
        ),
        ("ownerUserId=".to_owned(), vec![]),
        (format!("personIds={ada}"), vec![one]),
        (format!("personIds={ada},{bob}"), vec![one, two]),
        ("personIds=".to_owned(), vec![]),
        (format!("companyIds={acme}"), vec![two]),
        ("expectedCloseFrom=2027-01-20".to_owned(), vec![two]),
        ("expectedCloseTo=2027-01-10".to_owned(), vec![one]),
        (
            "expectedCloseFrom=2027-01-10&expectedCloseTo=2027-01-20".to_owned(),
            vec![one, two],
        ),
        ("valueMin=20.5".to_owned(), vec![two]),
        ("valueMax=10".to_owned(), vec![one]),
        ("valueMin=10&valueMax=20.5".to_owned(), vec![one, two]),
        ("valueCurrency=usd".to_owned(), vec![two]),
        ("valueCurrency=%20Usd%20".to_owned(), vec![two]),
        ("valueCurrency=usd&status=won".to_owned(), vec![]),
    ] {
        let mut found = fixture.list(admin, &format!("{DEALS}?{query}")).await;
        found.sort();
        assert_eq!(found, expected, "{query}");
    }
    assert_eq!(
        fixture.list(&tenant_fixture.local, DEALS).await.len(),
        2,
        "a sibling's deal is not seen"
    );
}

#[actix_web::test]
async fn each_order_is_stable_and_nulls_come_last() {
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let mut deals = Vec::new();
    for members in [
        json!({"title": "b", "valueAmount": 5, "valueCurrency": "EUR", "probability": 50, "expectedCloseOn": "2027-03-01"}),
        json!({"title": "C", "valueAmount": 100, "valueCurrency": "EUR", "probability": 5, "expectedCloseOn": "2027-01-01"}),
        json!({"title": "a"}),
    ] {
        fixture.app.advance(time::Duration::seconds(1));
        deals.push(fixture.deal(admin, child, members).await);
    }
    fixture.app.advance(time::Duration::seconds(1));
    let body = json!({"id": deals[1], "source": "Web"});
    assert_eq!(fixture.put(admin, DEALS, body).await.0, 200);

    for (query, expected) in [
        ("", [2, 1, 0]),
        ("sortDir=asc", [0, 1, 2]),
        ("sortField=createdAt", [2, 1, 0]),
        ("sortField=updatedAt&sortDir=desc", [1, 2, 0]),
        ("sortField=title", [2, 0, 1]),
        ("sortField=title&sortDir=desc", [1, 0, 2]),
        ("sortField=valueAmount", [0, 1, 2]),
        ("sortField=valueAmount&sortDir=desc", [1, 0, 2]),
        ("sortField=probability", [1, 0, 2]),
        ("sortField=expectedCloseOn&sortDir=desc", [0, 1, 2]),
    ] {
        let found = fixture.list(admin, &format!("{DEALS}?{query}")).await;
        assert_eq!(found, expected.map(|index| deals[index]), "{query}");
    }
}

#[actix_web::test]
async fn pages_together_are_the_list() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    for _ in 0..5 {
        fixture.deal(admin, fixture.a.child, json!({})).await;
    }
    let all = fixture.list(admin, DEALS).await;

    let mut paged = Vec::new();
    for page in 1..=3 {
        let (_, body) = fixture.get(admin, &format!("{DEALS}?page={page}&pageSize=2")).await;
        assert_eq!(
            (&body["total"], &body["totalPages"], &body["pageSize"]),
            (&json!(5), &json!(3), &json!(2))
        );
        paged.extend(
            body["items"]
                .as_array()
                .expect("a list")
                .iter()
                .map(crate::fixture::id_of),
        );
    }

    assert_eq!(paged, all);
    let (_, past) = fixture.get(admin, &format!("{DEALS}?page=9&pageSize=2")).await;
    assert_eq!((&past["items"], &past["total"]), (&json!([]), &json!(5)));
}

#[actix_web::test]
async fn filters_that_are_malformed_are_rejected() {
    let fixture = Fixture::new().await;
    let many = vec![Uuid::nil().to_string(); 1].join(",");
    let many: String = (0..201)
        .map(|n| Uuid::from_u128(n).to_string())
        .chain([many])
        .collect::<Vec<_>>()
        .join(",");

    for (query, path) in [
        ("status=gone".to_owned(), "status"),
        ("ownerUserId=x".to_owned(), "ownerUserId"),
        ("personIds=none".to_owned(), "personIds"),
        ("ids=1".to_owned(), "ids"),
        (format!("ids={many}"), "ids"),
        ("expectedCloseFrom=soon".to_owned(), "expectedCloseFrom"),
        ("expectedCloseTo=".to_owned(), "expectedCloseTo"),
        ("valueMin=x".to_owned(), "valueMin"),
        ("valueMax=1e400".to_owned(), "valueMax"),
        ("valueCurrency=E".to_owned(), "valueCurrency"),
        ("valueCurrency=EURO".to_owned(), "valueCurrency"),
        ("valueCurrency=E1R".to_owned(), "valueCurrency"),
        ("valueCurrency=".to_owned(), "valueCurrency"),
        ("sortField=lostReason".to_owned(), "sortField"),
        ("sortDir=up".to_owned(), "sortDir"),
        ("pageSize=101".to_owned(), "pageSize"),
        ("page=0".to_owned(), "page"),
    ] {
        let (status, body) = fixture.get(&fixture.a.admin, &format!("{DEALS}?{query}")).await;
        assert_eq!((status, detail(&body).0), (400, path), "{query}");
    }
}
