"""What `cargo xtask openapi fuzz` adds to Schemathesis: requests select no random tenant or organization, 400 for a valid request needs a reason
that the document states, and white space at the ends of a text does not count towards its length."""

import re

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import negative_data_rejection

# White space of Unicode, which the server trims. Python's `strip` would also take U+001C to U+001F.
SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

# Codes of `code` and `details[].code` for rules about stored data or about several fields, which no schema can state. The descriptions of
# the fields state them.
CODES = {
    "current_password_required": "a user changes their own password or address",
    "duplicate_name": "another record has the name",
    "immutable": "the field does not change after the creation",
    "invalid_current_password": "the password is another one",
    "last_super_admin": "one super administrator must remain",
    "active_content": "browsers execute the document",
    "confirm_public": "a partition with files becomes public",
    "dangerous_file": "the file is a program",
    "extension_fixed": "the file has another extension",
    "invalid_field": "a part of a form holds a list or JSON as a text",
    "invalid_store": "the settings do not fit the driver, or the endpoint is not allowed",
    "secrets_required": "a new place of files comes without its credentials",
    "not_unique": "another record has the value",
    "record_not_found": "the record does not exist or is not visible",
    "too_many_fields": "the tenant has as many fields as it may have",
    "too_many_partitions": "the tenant has as many partitions as it may have",
    "unknown_field_key": "other fields of the kind of records have constraints",
    "unknown_partition": "the partition does not exist or is not visible",
    "cannot_change_own_role": "callers cannot change their own role",
    "cannot_delete_self": "callers cannot delete their own account",
    "cannot_disable_self": "callers cannot deactivate themselves",
    "duplicate_holiday": "two holidays are on one day",
    "email_already_exists": "another user has the address",
    "id_mismatch": "the body repeats the id of the path",
    "invalid_date_range": "the end lies after the start",
    "invalid_holiday": "a name has no control characters, and some days of the form do not exist",
    "invalid_interval": "an interval has instants or days, not both, and ends after it starts",
    "invalid_off_weekdays": "a weekday is named once",
    "invalid_reason_code": "reasons depend on the type of the resource",
    "invalid_recurrence": "the rule is a text in the form of RFC 5545",
    "invalid_time_zone": "the name is one of the IANA database",
    "job_site_closed": "the job site is closed",
    "job_site_not_found": "the job site does not exist or is not visible",
    "range_too_long": "the days lie too far apart",
    "resource_not_found": "the resource does not exist or is not visible",
    "role_not_assignable": "the role of an administrator is not changed here",
    "role_not_grantable": "callers grant only what they may do themselves",
    "rule_limit_reached": "the tenant has as many rules as it may have",
    "span_too_long": "the ends of the interval lie too far apart",
    "subject_inactive": "the resource is inactive",
    "subject_not_found": "no resource of this type exists or is visible",
    "too_many_feeds": "the user has as many feeds as a user may have",
    "too_many_occurrences": "the rule repeats too often",
    "type_immutable": "the type does not change after the creation",
    "user_not_found": "the user does not exist, or the resource is not a worker",
    "organization_required": "no organization is named or selected",
    "own_tenant": "callers cannot close the tenant that they work in",
    "parent_not_found": "the parent does not exist or is not visible",
    "tenant_required": "all tenants are selected, and a record needs one",
    "undo_conflict": "the record has changed since the entry",
    "unknown_reference": "the referenced record does not exist or is not visible",
}

# Texts of rejections without a code, from the published API.
TEXTS = {
    "Invalid or expired link": "no such link was sent",
    "Invalid request origin": "the configuration lists the origins",
    "Invalid locale": "the configuration lists the locales",
    "Invalid or expired token": "no such token was sent",
    "Invalid roles": "a role does not exist or is not visible",
    "Organization not found": "the organization does not exist",
    "Role name is reserved": "the seeded role of super administrators has the name",
    "Redo target not available": "no such entry can be redone",
    "The status token is missing": "neither the query nor the cookie has one",
    "Target user not found": "the user does not exist in the tenant",
    "Tenant not found": "the tenant does not exist",
    "Undo token not available": "no such token was returned",
}

# Path, or its last part, with code and reason of rules that combine fields, or that JSON Schema and forms cannot express.
RULES = {
    ("", "required"): "one of several fields is needed",
    ("amount", "invalid_value"): "the digits fit into a double",
    ("configJson.bucket", "required"): "the settings of `s3` have one",
    ("configJson", "invalid_value"): "the driver `local` has no settings",
    ("configJson", "required"): "the driver `s3` has settings",
    ("configJson.endpoint", "invalid_value"): "the address of a server has a valid host",
    ("confirmPassword", "invalid_value"): "it repeats the password",
    ("confirmPassword", "required"): "it repeats the password",
    ("termsAccepted", "required"): "only sign-ups with accepted terms are allowed",
    ("customFields", "too_long"): "all fields have 16 KiB together",
    ("endsAt", "out_of_range"): "it lies after startsAt",
    ("tags", "too_long"): "a filter has at most 20 tags",
    ("filter", "required"): "a blank search alone is not a filter",
    ("id", "required"): "the query or the body of a deletion names the partition",
    ("id", "invalid_value"): "the query and the body of a deletion name the same partition",
    ("expiresAt", "out_of_range"): "it lies in the future",
    ("locales", "invalid_value"): "the configuration lists the locales",
    ("lostReason", "invalid_value"): "only lost deals have one",
    ("availableTo", "invalid_value"): "it lies after availableFrom",
    ("availableTo", "required"): "it is given together with availableFrom",
    ("availableFrom", "required"): "it is given together with availableTo",
    ("effectiveTo", "out_of_range"): "it lies after effectiveFrom",
    ("from", "required"): "a list without ids has a time",
    ("to", "out_of_range"): "it lies at most 400 days after from",
    ("to", "required"): "a list without ids has a time",
    ("to", "invalid_value"): "it lies after from",
    ("resourceIds", "required"): "at least one resource is named",
    ("status", "required"): "one of several fields is needed",
    ("remember", "invalid_type"): "JSON Schema counts 0.0 as an integer, too",
    ("valueCurrency", "invalid_value"): "an amount needs a currency",
}


# Headers and fields with which a request selects a tenant or an organization. No generated id exists, so the server would reject the request for it
# and nothing else of the request would be tested.
SELECTING_HEADERS = ("X-Tenant-Id", "X-Organization-Id")
SELECTING_FIELDS = ("tenantId", "organizationId")


def without_selection(value):
    if isinstance(value, list):
        return [without_selection(item) for item in value]
    if isinstance(value, dict):
        return {name: without_selection(item) for name, item in value.items() if name not in SELECTING_FIELDS}
    return value


def mismatches(case):
    """Names of the optional headers that Schemathesis takes for valid although they do not match their pattern: it shortens values to other lengths."""
    for parameter in case.operation.headers:
        pattern = parameter.definition.get("schema", {}).get("pattern")
        value = case.headers.get(parameter.name)
        if pattern and value is not None and not parameter.is_required and not re.search(pattern, str(value)):
            yield parameter.name


# Invalid selections stay: they are what such a request tests. So do the few that an operation requires.
@schemathesis.hook
def before_call(context, case, kwargs):
    meta = case.meta
    if meta is None:
        return
    if not meta.is_negative_at(ParameterLocation.HEADER):
        for name in SELECTING_HEADERS:
            case.headers.pop(name, None)
        for name in list(mismatches(case)):
            case.headers.pop(name)
    if not meta.is_negative_at(ParameterLocation.QUERY):
        for parameter in case.operation.query:
            if parameter.name in SELECTING_FIELDS and not parameter.is_required:
                case.query.pop(parameter.name, None)
    if case.media_type == "application/json" and not meta.is_negative_at(ParameterLocation.BODY):
        body = without_selection(case.body)
        if body != case.body and case.operation.get_body_for_media_type(case.media_type).get_validator().is_valid(body):
            case.body = body


def is_stated(detail):
    code, path, message = detail["code"], detail["path"], detail["message"]
    last = path.rsplit(".", 1)[-1]
    if code in CODES or (last, code) in RULES or (path, code) in RULES:
        return True
    # The description of the module states the form of conditions and actions; their schema is any object.
    if path.split(".")[0].split("[")[0] in ("conditionExpression", "successActions", "failureActions"):
        return True
    # JSON Schema counts 1.0 as an integer; the description of 400 asks for integers without a fraction.
    return code == "invalid_type" and message == "must be a whole number"


def has_impossible_name(parts):
    """Whether the name of a part has a control character: names are written into headers, which have none."""
    names = parts if isinstance(parts, dict) else {}
    return any(character < " " or character == "\x7f" for name in names for character in name)


@schemathesis.check
def rejections_have_stated_reasons(ctx, response, case):
    if response.status_code != 400 or case.meta is None or not case.meta.generation.mode.is_positive:
        return None
    if any(mismatches(case)):
        return None
    body = response.json()
    error = body.get("error", "")
    if body.get("code") in CODES or error in TEXTS or error.startswith("Role(s) not found: "):
        return None
    # A form has no null: a generator that chose it sends the word.
    if case.media_type == "application/x-www-form-urlencoded" and "null" in str(response.request.body):
        return None
    if body.get("code") == "invalid_multipart" and has_impossible_name(case.body):
        return None
    details = body.get("details", [])
    if details and all(is_stated(detail) for detail in details):
        return None
    raise AssertionError(f"A valid request was rejected without a stated reason: {response.text[:500]}")



def trimmed(value):
    if isinstance(value, str):
        return value.strip(SPACE)
    if isinstance(value, list):
        return [trimmed(item) for item in value]
    if isinstance(value, dict):
        return {name: trimmed(item) for name, item in value.items()}
    return value


def is_valid_when_trimmed(case):
    """Whether the schema of the body accepts the body with trimmed texts, and only the texts of the body broke the schema."""
    alternative = case.operation.get_body_for_media_type(case.media_type) if case.media_type else None
    if alternative is None or any(case.meta.is_negative_at(place) for place in case.meta.components if place != "body"):
        return False
    body = trimmed(case.body)
    return body != case.body and alternative.get_validator().is_valid(body)


# Takes the place of `negative_data_rejection`. JSON Schema counts the characters of a text as sent; the server trims first.
@schemathesis.check
def invalid_requests_are_rejected(ctx, response, case):
    try:
        return negative_data_rejection(ctx, response, case)
    except AcceptedNegativeData:
        if is_valid_when_trimmed(case):
            return None
        raise
