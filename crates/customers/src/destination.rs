//! Destinations of deals: a pipeline serves the deals of its organization and of those below it, and a stage accepts the deals of its pipeline.

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::schema::{customers_pipeline_stages as stages, customers_pipelines as pipelines};
use crate::{Error, query};

/// A stage into which deals are moved. Finding it costs a constant number of statements; checking a deal costs none.
#[derive(Debug, Clone)]
pub struct Destination {
    /// The stage.
    pub stage: Uuid,
    /// Its pipeline.
    pub pipeline: Uuid,
    /// The organizations that the pipeline serves.
    served: Vec<Uuid>,
}

impl Destination {
    /// Returns the stage, if it is visible to the caller.
    ///
    /// # Errors
    /// [`Error::UnknownReference`].
    pub async fn find(tx: &mut Tx<'_>, stage: Uuid) -> Result<Self> {
        let (scope, tenant) = (tx.scope(), tx.tenant());
        let found: Option<(Uuid, Uuid)> = query::stages::seen(scope)
            .filter(stages::tenant_id.eq(tenant))
            .filter(stages::id.eq(stage))
            .select((stages::pipeline_id, stages::organization_id))
            .limit(1)
            .prepared()
            .get_result(tx.conn())
            .await
            .optional()?;
        let Some((pipeline, organization)) = found else {
            return Err(unknown("pipelineStageId"));
        };
        Ok(Self {
            stage,
            pipeline,
            served: tx.expand_organizations(&[organization]).await?,
        })
    }

    /// Checks that the stage accepts a deal of this pipeline and organization. A deal without a pipeline takes the pipeline of the stage.
    ///
    /// # Errors
    /// [`Error::StageInOtherPipeline`]; [`Error::UnknownReference`] when the pipeline does not serve the organization.
    pub fn accepts(&self, pipeline: Option<Uuid>, organization: Uuid) -> Result<(), Error> {
        match pipeline {
            Some(own) if own == self.pipeline => Ok(()),
            Some(_) => Err(Error::StageInOtherPipeline),
            None if self.served.contains(&organization) => Ok(()),
            None => Err(Error::UnknownReference("pipelineStageId")),
        }
    }

    /// Returns the first stage of a pipeline, if it has stages; rejects a pipeline that does not serve the organization.
    ///
    /// # Errors
    /// [`Error::UnknownReference`].
    pub async fn of_pipeline(tx: &mut Tx<'_>, pipeline: Uuid, organization: Uuid) -> Result<Option<Uuid>> {
        let (scope, tenant) = (tx.scope(), tx.tenant());
        let found: Option<Uuid> = query::pipelines::seen(scope)
            .filter(pipelines::tenant_id.eq(tenant))
            .filter(pipelines::id.eq(pipeline))
            .select(pipelines::organization_id)
            .limit(1)
            .prepared()
            .get_result(tx.conn())
            .await
            .optional()?;
        let served = match found {
            Some(root) => tx.expand_organizations(&[root]).await?,
            None => Vec::new(),
        };
        if !served.contains(&organization) {
            return Err(unknown("pipelineId"));
        }
        Self::first_stage(tx, pipeline).await
    }

    /// Returns the first stage of a pipeline of the transaction's tenant, if it has stages.
    pub(crate) async fn first_stage(tx: &mut Tx<'_>, pipeline: Uuid) -> Result<Option<Uuid>> {
        let tenant = tx.tenant();
        Ok(query::stages::of_tenant(tenant)
            .filter(stages::pipeline_id.eq(pipeline))
            .order((stages::position, stages::id))
            .select(stages::id)
            .limit(1)
            .prepared()
            .get_result(tx.conn())
            .await
            .optional()?)
    }
}

fn unknown(field: &'static str) -> backoffice_core::Error {
    Error::UnknownReference(field).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deal_stays_in_its_pipeline() {
        let [stage, own, other, organization] = [1, 2, 3, 4].map(Uuid::from_u128);
        let to = Destination {
            stage,
            pipeline: own,
            served: vec![organization],
        };

        assert_eq!(to.accepts(Some(own), organization), Ok(()));
        assert_eq!(to.accepts(Some(other), organization), Err(Error::StageInOtherPipeline));
        assert_eq!(to.accepts(None, organization), Ok(()));
        assert!(to.accepts(None, other).is_err());
    }
}
