//! Kinds and urgencies of alerts.

/// How soon an alert needs attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// A resource is needed in two places at once, or while it is unavailable.
    Critical,
    /// An assignment can't take place as it is planned.
    Warning,
    /// An assignment is unusual.
    Info,
}

impl Urgency {
    /// All urgencies, the highest first.
    pub const ALL: [Self; 3] = [Self::Critical, Self::Warning, Self::Info];

    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }

    /// Parses the name of an urgency.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|urgency| urgency.as_str() == name)
    }

    /// Returns the stored rank: 0 for the highest.
    #[must_use]
    pub const fn rank(self) -> i16 {
        match self {
            Self::Critical => 0,
            Self::Warning => 1,
            Self::Info => 2,
        }
    }

    /// Returns the urgency of a stored rank.
    #[must_use]
    pub const fn from_rank(rank: i16) -> Self {
        match rank {
            0 => Self::Critical,
            1 => Self::Warning,
            _ => Self::Info,
        }
    }
}

/// What an alert reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Assignments of a subject overlap, all on one job site.
    SubjectOverlapSameSite,
    /// Assignments of a subject overlap, on two or more job sites.
    SubjectOverlapDifferentSites,
    /// Assignments meet a window in which the subject is unavailable.
    SubjectUnavailable,
    /// Assignments of a resource that is inactive or deleted.
    SubjectInactive,
    /// Assignments on a job site that is closed, or outside of its dates.
    JobSiteClosed,
    /// An assignment touches days only on which the organization does not work.
    NonWorkingDay,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::SubjectOverlapSameSite,
        Self::SubjectOverlapDifferentSites,
        Self::SubjectUnavailable,
        Self::SubjectInactive,
        Self::JobSiteClosed,
        Self::NonWorkingDay,
    ];

    /// Returns the name on the wire and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SubjectOverlapSameSite => "subject_overlap_same_site",
            Self::SubjectOverlapDifferentSites => "subject_overlap_different_sites",
            Self::SubjectUnavailable => "subject_unavailable",
            Self::SubjectInactive => "subject_inactive",
            Self::JobSiteClosed => "job_site_closed",
            Self::NonWorkingDay => "non_working_day",
        }
    }

    /// Parses the name of a kind.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Returns the name of the kinds between which an open alert may change: `overlap`, or the kind itself.
    #[must_use]
    pub const fn family(self) -> &'static str {
        match self {
            Self::SubjectOverlapSameSite | Self::SubjectOverlapDifferentSites => OVERLAP,
            other => other.as_str(),
        }
    }

    /// Returns the urgency of every alert of this kind.
    #[must_use]
    pub const fn urgency(self) -> Urgency {
        match self {
            Self::SubjectOverlapSameSite | Self::SubjectOverlapDifferentSites | Self::SubjectUnavailable => {
                Urgency::Critical
            }
            Self::SubjectInactive | Self::JobSiteClosed => Urgency::Warning,
            Self::NonWorkingDay => Urgency::Info,
        }
    }
}

/// The family of both kinds of overlaps.
pub const OVERLAP: &str = "overlap";
