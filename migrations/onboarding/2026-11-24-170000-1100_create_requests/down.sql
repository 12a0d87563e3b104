drop table onboarding_requests;
