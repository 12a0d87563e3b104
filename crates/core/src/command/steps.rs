//! Commands without their types, so that the bus is compiled once, and not for each command.

use std::any::Any;

use actix_web::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use uuid::Uuid;

use super::tx::Tx;
use super::{Command, CommandResponse, EntityRef, Target};
use crate::error::{Error, Result};

/// What a command says of itself.
pub(super) trait AnyCommand: Send + Sync {
    fn target(&self) -> Target;
    fn affects(&self) -> Vec<EntityRef>;
    fn affects_behind_lock<'a>(&'a self, tx: &'a mut Tx<'_>) -> BoxFuture<'a, Result<Vec<EntityRef>>>;
    fn also_creates(&self) -> Vec<EntityRef>;
    /// The command with its validated input, for interceptors.
    fn input(&self) -> &(dyn Any + Send + Sync);
}

impl<C: Command> AnyCommand for C {
    fn target(&self) -> Target {
        Command::target(self)
    }

    fn affects(&self) -> Vec<EntityRef> {
        Command::affects(self)
    }

    fn affects_behind_lock<'a>(&'a self, tx: &'a mut Tx<'_>) -> BoxFuture<'a, Result<Vec<EntityRef>>> {
        Command::affects_behind_lock(self, tx).boxed()
    }

    fn also_creates(&self) -> Vec<EntityRef> {
        Command::also_creates(self)
    }

    fn input(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

/// Returns the id of the resource.
pub(super) fn resource(command: &dyn AnyCommand) -> Uuid {
    match command.target() {
        Target::New { id, .. } | Target::Existing(id) => id,
    }
}

/// The steps of an execution that have a result. The implementor keeps it.
pub(super) trait Steps: Send {
    /// Applies the change.
    fn apply<'a>(&'a mut self, tx: &'a mut Tx<'_>) -> BoxFuture<'a, Result<()>>;

    /// Completes the result, once the deferred work is done.
    fn complete<'a>(&'a mut self, tx: &'a mut Tx<'_>) -> BoxFuture<'a, Result<()>>;
}

/// Steps whose result is a response.
pub(super) trait Responding: Steps {
    /// Returns the status and the body of the response to store for an `Idempotency-Key`, once it is complete.
    fn stored(&self) -> Result<(StatusCode, Value)>;
}

/// A command whose caller gets a response.
pub(super) struct WithResponse<'c, C: Command, A, R> {
    command: &'c C,
    respond: R,
    output: Option<C::Output>,
    response: Option<A>,
}

impl<'c, C: Command, A: CommandResponse, R: Fn(C::Output) -> A + Send + Sync> WithResponse<'c, C, A, R> {
    pub(super) fn new(command: &'c C, respond: R) -> Self {
        Self {
            command,
            respond,
            output: None,
            response: None,
        }
    }

    /// Returns the response of the last execution.
    pub(super) fn into_response(self) -> Result<A> {
        self.response.ok_or_else(incomplete)
    }
}

impl<C: Command, A: CommandResponse, R: Fn(C::Output) -> A + Send + Sync> Steps for WithResponse<'_, C, A, R> {
    fn apply<'a>(&'a mut self, tx: &'a mut Tx<'_>) -> BoxFuture<'a, Result<()>> {
        async {
            self.output = Some(self.command.apply(tx).await?);
            Ok(())
        }
        .boxed()
    }

    fn complete<'a>(&'a mut self, tx: &'a mut Tx<'_>) -> BoxFuture<'a, Result<()>> {
        async {
            let output = self.output.take().ok_or_else(incomplete)?;
            let output = self.command.complete(tx, output).await?;
            self.response = Some((self.respond)(output));
            Ok(())
        }
        .boxed()
    }
}

impl<C: Command, A: CommandResponse, R: Fn(C::Output) -> A + Send + Sync> Responding for WithResponse<'_, C, A, R> {
    fn stored(&self) -> Result<(StatusCode, Value)> {
        stored(self.response.as_ref().ok_or_else(incomplete)?)
    }
}

/// An item of a bulk job: no caller reads its result.
pub(super) struct WithoutResponse<'c, C>(pub(super) &'c C);

impl<C: Command> Steps for WithoutResponse<'_, C> {
    fn apply<'a>(&'a mut self, tx: &'a mut Tx<'_>) -> BoxFuture<'a, Result<()>> {
        async {
            self.0.apply(tx).await?;
            Ok(())
        }
        .boxed()
    }

    fn complete<'a>(&'a mut self, _tx: &'a mut Tx<'_>) -> BoxFuture<'a, Result<()>> {
        std::future::ready(Ok(())).boxed()
    }
}

/// Returns what an `Idempotency-Key` stores of a response.
pub(super) fn stored(response: &impl CommandResponse) -> Result<(StatusCode, Value)> {
    Ok((response.status(), response.to_value()?))
}

fn incomplete() -> Error {
    Error::internal("a command was not carried out to its end")
}
