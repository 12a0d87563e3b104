//! The cost of lists in the tenant of the usual size and in the largest one.

use std::time::Duration;

use super::super::database::PASSWORD;
use super::super::load::{Load, run};
use super::Bench;
use super::lines::WARM_UP;
use super::meter::Cost;
use super::report::{Growth, Report, Unmeasured, failed};
use super::running::Running;
use super::site::Site;
use super::subjects::{LISTS, USUAL};
use super::work::{Callers, Prepared, Work};
use crate::Result;
use crate::process::say;

/// Few, because the cost of a request is measured, not the rate.
const CLIENTS: u32 = 2;

impl Bench<'_> {
    /// Measures the cost of each list, if this tenant is one of the two that are compared.
    pub(super) fn lists(&self, running: &mut Running<'_, '_>, site: &Site, report: &mut Report) {
        let largest = self.options.sizes().into_iter().max().unwrap_or(0);
        if largest <= USUAL || (site.rows != USUAL && site.rows != largest) {
            return;
        }
        for (index, list) in LISTS.iter().enumerate() {
            say(&format!("cost of {}, {} rows ...", list.title, site.rows));
            let path = match list.far {
                Some(far) if site.rows == largest => far,
                _ => list.path,
            };
            let cost = self.cost(running, path, site);
            let cost = cost.map_err(|error| failed(list.title, &*error));
            match report.growth.get_mut(index) {
                Some(growth) => growth.large = cost,
                None => report.growth.push(Growth {
                    title: list.title,
                    usual: cost,
                    large: Err(Unmeasured::Missing("not measured")),
                }),
            }
        }
    }

    fn cost(&self, running: &mut Running<'_, '_>, path: &'static str, site: &Site) -> Result<Cost> {
        let server = running.get()?;
        let tokens = [server.log_in(&site.email, PASSWORD)?];
        let callers = Callers {
            host: server.api(),
            tokens: &tokens,
        };
        let served = |duration| match Work::List(path).prepare(callers, site, CLIENTS, 0)? {
            Prepared::Missing(what) => Err(what.into()),
            Prepared::Requests(clients, expected) => run(
                callers.host,
                Load {
                    clients,
                    duration,
                    expected,
                },
            ),
        };
        served(WARM_UP)?;
        let before = self.meter.read(Some(server))?;
        let round = served(Duration::from_secs(self.options.seconds()))?;
        Ok(self.meter.read(Some(server))?.since(before, f64::from(round.requests)))
    }
}
