//! Creates a pipeline.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, RequestContext, Result};
use diesel::insert_into;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::{PipelineFields, name_is_taken};
use crate::model::{Pipeline, PipelineRow};
use crate::schema::customers_pipelines as pipelines;
use crate::values::Rules;
use crate::{Placement, acl};

/// Creates a pipeline without stages and returns its id.
#[derive(Debug, Clone)]
pub struct CreatePipeline {
    place: Placement,
    id: Uuid,
    name: String,
}

impl CreatePipeline {
    /// Checks the fields.
    ///
    /// # Errors
    /// 400 that names the invalid fields, or when the organization of the pipeline is not known.
    pub fn new(ctx: &RequestContext, mut fields: PipelineFields) -> Result<Self> {
        // An absent name is treated as null, which `checked` rejects.
        fields.name.get_or_insert(None);
        fields.organization_id = Rules::new_place(fields.organization_id);
        let fields = fields.checked()?;
        Ok(Self {
            place: Placement::of_new(ctx, fields.organization_id.flatten())?,
            id: ctx.new_id(),
            name: fields.name.flatten().unwrap_or_default(),
        })
    }
}

impl Command for CreatePipeline {
    const ID: &'static str = "customers.pipeline.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create pipeline";
    const FEATURES: &'static [Feature] = &[acl::PIPELINES_MANAGE];
    type Entity = Pipeline;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.place.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        self.place.check(tx).await?;
        let row = PipelineRow {
            tenant_id: self.place.tenant,
            id: self.id,
            organization_id: self.place.organization,
            name: self.name.clone(),
            created_at: tx.now(),
            updated_at: tx.now(),
        };
        let inserted = insert_into(pipelines::table).values(&row).execute(tx.conn()).await;
        inserted.map_err(name_is_taken)?;
        Ok(self.id)
    }
}
