//! Endpoints of users.

use backoffice_core::command::Entity;
use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{RequestContext, Result, crud};

use crate::commands::UserInput;
use crate::model::User;
use crate::{acl, query};

pub(crate) fn routes(routes: &mut Routes) {
    let (path, one) = ("/access/users", "/access/users/{id}");
    routes
        .get(path, requires(&[acl::USERS_VIEW]), list_access_users)
        .shows(&[User::KIND])
        .about("List users");
    routes
        .get(one, requires(&[acl::USERS_VIEW]), get_access_user)
        .shows(&[User::KIND])
        .about("A user")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::USERS_MANAGE]), create_access_user)
        .about("Create a user")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::USERS_MANAGE]), update_access_user)
        .about("Change a user")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::USERS_MANAGE]), delete_access_user)
        .about("Delete a user")
        .rejects(&[404, 409, 422]);
}

async fn list_access_users(ctx: RequestContext, list: ListQuery<User>) -> Result<Json<Page<User>>> {
    let request = list.validate()?;
    let connection = ctx.read().await?;
    query::list(&connection, &ctx, &request).await.map(Json)
}

async fn get_access_user(ctx: RequestContext, path: Path<Id>) -> Result<Json<User>> {
    let connection = ctx.read().await?;
    crud::found::<User, _>(query::find(&connection, ctx.scope(), path.0.id).await?)
}

async fn create_access_user(ctx: RequestContext, body: Json<UserInput>) -> Result<Created<CreatedId>> {
    crud::create::<User>(&ctx, body.0).await
}

async fn update_access_user(ctx: RequestContext, body: Identified<UserInput>) -> Result<Json<Updated>> {
    crud::update::<User>(&ctx, body.id, body.fields).await
}

async fn delete_access_user(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<User>(&ctx, query.0.id).await
}
