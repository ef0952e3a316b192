"""Hypothesis strategies: one per type of the model, with everything the model allows."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st
from msgspec import Struct

from dragoman.model import cards, events, messages, operations, parts, push, security, tasks
from dragoman.model.base import INT32_MAX
from dragoman.model.timestamps import format_timestamp

texts = st.text(max_size=8)
names = st.text(min_size=1, max_size=8)
counts = st.integers(0, INT32_MAX)
string_lists = st.lists(texts, max_size=2).map(tuple)

json_values: st.SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects: st.SearchStrategy[dict[str, object]] = st.dictionaries(texts, json_values, max_size=2)
maybe_objects = st.none() | json_objects

# Years 2000 to 2100.
timestamps = st.integers(946_684_800_000, 4_102_444_800_000).map(format_timestamp)
roles = st.sampled_from(messages.Role)
task_states = st.sampled_from(tasks.TaskState)

part_values = st.one_of(
    st.builds(parts.Part, text=texts, metadata=maybe_objects, filename=texts, media_type=texts),
    st.builds(
        parts.Part,
        raw=st.binary(max_size=8),
        metadata=maybe_objects,
        filename=texts,
        media_type=texts,
    ),
    st.builds(parts.Part, url=texts, metadata=maybe_objects, filename=texts, media_type=texts),
    st.builds(
        parts.Part, data=json_values, metadata=maybe_objects, filename=texts, media_type=texts
    ),
)
_some_parts = st.lists(part_values, min_size=1, max_size=2).map(tuple)

message_values = st.builds(
    messages.Message,
    message_id=names,
    context_id=texts,
    task_id=texts,
    role=roles,
    parts=_some_parts,
    metadata=maybe_objects,
    extensions=string_lists,
    reference_task_ids=string_lists,
)
task_statuses = st.builds(
    tasks.TaskStatus,
    state=task_states,
    message=st.none() | message_values,
    timestamp=st.none() | timestamps,
)
artifacts = st.builds(
    tasks.Artifact,
    artifact_id=names,
    name=texts,
    description=texts,
    parts=_some_parts,
    metadata=maybe_objects,
    extensions=string_lists,
)
task_values = st.builds(
    tasks.Task,
    id=names,
    context_id=texts,
    status=task_statuses,
    artifacts=st.lists(artifacts, max_size=2).map(tuple),
    history=st.lists(message_values, max_size=2).map(tuple),
    metadata=maybe_objects,
)
status_update_events = st.builds(
    events.TaskStatusUpdateEvent,
    task_id=names,
    context_id=names,
    status=task_statuses,
    metadata=maybe_objects,
)
artifact_update_events = st.builds(
    events.TaskArtifactUpdateEvent,
    task_id=names,
    context_id=names,
    artifact=artifacts,
    append=st.booleans(),
    last_chunk=st.booleans(),
    metadata=maybe_objects,
)
stream_responses = st.one_of(
    st.builds(events.StreamResponse, task=task_values),
    st.builds(events.StreamResponse, message=message_values),
    st.builds(events.StreamResponse, status_update=status_update_events),
    st.builds(events.StreamResponse, artifact_update=artifact_update_events),
)

authentication_infos = st.builds(push.AuthenticationInfo, scheme=names, credentials=texts)
push_configs = st.builds(
    push.TaskPushNotificationConfig,
    tenant=texts,
    id=texts,
    task_id=names,
    url=names,
    token=texts,
    authentication=st.none() | authentication_infos,
)

send_message_configurations = st.builds(
    operations.SendMessageConfiguration,
    accepted_output_modes=string_lists,
    task_push_notification_config=st.none() | push_configs,
    history_length=st.none() | counts,
    return_immediately=st.booleans(),
)
send_message_requests = st.builds(
    operations.SendMessageRequest,
    tenant=texts,
    message=message_values,
    configuration=st.none() | send_message_configurations,
    metadata=maybe_objects,
)
get_task_requests = st.builds(
    operations.GetTaskRequest, tenant=texts, id=names, history_length=st.none() | counts
)
list_tasks_requests = st.builds(
    operations.ListTasksRequest,
    tenant=texts,
    context_id=texts,
    status=st.none() | task_states,
    page_size=st.none() | st.integers(1, operations.MAX_PAGE_SIZE),
    page_token=texts,
    history_length=st.none() | counts,
    status_timestamp_after=st.none() | timestamps,
    include_artifacts=st.none() | st.booleans(),
)
cancel_task_requests = st.builds(
    operations.CancelTaskRequest, tenant=texts, id=names, metadata=maybe_objects
)
subscribe_to_task_requests = st.builds(operations.SubscribeToTaskRequest, tenant=texts, id=names)
get_push_config_requests = st.builds(
    operations.GetTaskPushNotificationConfigRequest, tenant=texts, task_id=names, id=names
)
list_push_configs_requests = st.builds(
    operations.ListTaskPushNotificationConfigsRequest,
    tenant=texts,
    task_id=names,
    page_size=counts,
    page_token=texts,
)
delete_push_config_requests = st.builds(
    operations.DeleteTaskPushNotificationConfigRequest, tenant=texts, task_id=names, id=names
)
get_extended_card_requests = st.builds(operations.GetExtendedAgentCardRequest, tenant=texts)
empties = st.builds(operations.Empty)
send_message_responses = st.one_of(
    st.builds(operations.SendMessageResponse, task=task_values),
    st.builds(operations.SendMessageResponse, message=message_values),
)
list_tasks_responses = st.builds(
    operations.ListTasksResponse,
    tasks=st.lists(task_values, max_size=2).map(tuple),
    next_page_token=texts,
    page_size=counts,
    total_size=counts,
)
list_push_configs_responses = st.builds(
    operations.ListTaskPushNotificationConfigsResponse,
    configs=st.lists(push_configs, max_size=2).map(tuple),
    next_page_token=texts,
)

_scopes = st.dictionaries(texts, texts, max_size=2)
string_list_values = st.builds(security.StringList, list=string_lists)
security_requirements = st.builds(
    security.SecurityRequirement, schemes=st.dictionaries(texts, string_list_values, max_size=2)
)
api_key_schemes = st.builds(
    security.APIKeySecurityScheme, description=texts, location=names, name=names
)
http_auth_schemes = st.builds(
    security.HTTPAuthSecurityScheme, description=texts, scheme=names, bearer_format=texts
)
authorization_code_flows = st.builds(
    security.AuthorizationCodeOAuthFlow,
    authorization_url=names,
    token_url=names,
    refresh_url=texts,
    scopes=_scopes,
    pkce_required=st.booleans(),
)
client_credentials_flows = st.builds(
    security.ClientCredentialsOAuthFlow, token_url=names, refresh_url=texts, scopes=_scopes
)
implicit_flows = st.builds(
    security.ImplicitOAuthFlow, authorization_url=texts, refresh_url=texts, scopes=_scopes
)
password_flows = st.builds(
    security.PasswordOAuthFlow, token_url=texts, refresh_url=texts, scopes=_scopes
)
device_code_flows = st.builds(
    security.DeviceCodeOAuthFlow,
    device_authorization_url=names,
    token_url=names,
    refresh_url=texts,
    scopes=_scopes,
)
oauth_flows = st.one_of(
    st.builds(security.OAuthFlows, authorization_code=authorization_code_flows),
    st.builds(security.OAuthFlows, client_credentials=client_credentials_flows),
    st.builds(security.OAuthFlows, implicit=implicit_flows),
    st.builds(security.OAuthFlows, password=password_flows),
    st.builds(security.OAuthFlows, device_code=device_code_flows),
)
oauth2_schemes = st.builds(
    security.OAuth2SecurityScheme, description=texts, flows=oauth_flows, oauth2_metadata_url=texts
)
open_id_connect_schemes = st.builds(
    security.OpenIdConnectSecurityScheme, description=texts, open_id_connect_url=names
)
mutual_tls_schemes = st.builds(security.MutualTlsSecurityScheme, description=texts)
security_schemes = st.one_of(
    st.builds(security.SecurityScheme, api_key_security_scheme=api_key_schemes),
    st.builds(security.SecurityScheme, http_auth_security_scheme=http_auth_schemes),
    st.builds(security.SecurityScheme, oauth2_security_scheme=oauth2_schemes),
    st.builds(security.SecurityScheme, open_id_connect_security_scheme=open_id_connect_schemes),
    st.builds(security.SecurityScheme, mtls_security_scheme=mutual_tls_schemes),
)

agent_interfaces = st.builds(
    cards.AgentInterface, url=names, protocol_binding=names, tenant=texts, protocol_version=names
)
agent_providers = st.builds(cards.AgentProvider, url=names, organization=names)
agent_extensions = st.builds(
    cards.AgentExtension,
    uri=texts,
    description=texts,
    required=st.booleans(),
    params=maybe_objects,
)
agent_capabilities = st.builds(
    cards.AgentCapabilities,
    streaming=st.none() | st.booleans(),
    push_notifications=st.none() | st.booleans(),
    extensions=st.lists(agent_extensions, max_size=2).map(tuple),
    extended_agent_card=st.none() | st.booleans(),
)
_requirement_lists = st.lists(security_requirements, max_size=2).map(tuple)
agent_skills = st.builds(
    cards.AgentSkill,
    id=names,
    name=names,
    description=names,
    tags=string_lists,
    examples=string_lists,
    input_modes=string_lists,
    output_modes=string_lists,
    security_requirements=_requirement_lists,
)
agent_card_signatures = st.builds(
    cards.AgentCardSignature, protected=names, signature=names, header=maybe_objects
)
agent_cards = st.builds(
    cards.AgentCard,
    name=names,
    description=texts,
    supported_interfaces=st.lists(agent_interfaces, max_size=2).map(tuple),
    provider=st.none() | agent_providers,
    version=texts,
    documentation_url=st.none() | texts,
    capabilities=agent_capabilities,
    security_schemes=st.dictionaries(texts, security_schemes, max_size=2),
    security_requirements=_requirement_lists,
    default_input_modes=string_lists,
    default_output_modes=string_lists,
    skills=st.lists(agent_skills, max_size=2).map(tuple),
    signatures=st.lists(agent_card_signatures, max_size=1).map(tuple),
    icon_url=st.none() | texts,
)

BY_TYPE: Final[dict[type[Struct], st.SearchStrategy[Struct]]] = {
    parts.Part: part_values,
    messages.Message: message_values,
    tasks.TaskStatus: task_statuses,
    tasks.Artifact: artifacts,
    tasks.Task: task_values,
    events.TaskStatusUpdateEvent: status_update_events,
    events.TaskArtifactUpdateEvent: artifact_update_events,
    events.StreamResponse: stream_responses,
    push.AuthenticationInfo: authentication_infos,
    push.TaskPushNotificationConfig: push_configs,
    operations.SendMessageConfiguration: send_message_configurations,
    operations.SendMessageRequest: send_message_requests,
    operations.GetTaskRequest: get_task_requests,
    operations.ListTasksRequest: list_tasks_requests,
    operations.CancelTaskRequest: cancel_task_requests,
    operations.SubscribeToTaskRequest: subscribe_to_task_requests,
    operations.GetTaskPushNotificationConfigRequest: get_push_config_requests,
    operations.ListTaskPushNotificationConfigsRequest: list_push_configs_requests,
    operations.DeleteTaskPushNotificationConfigRequest: delete_push_config_requests,
    operations.GetExtendedAgentCardRequest: get_extended_card_requests,
    operations.Empty: empties,
    operations.SendMessageResponse: send_message_responses,
    operations.ListTasksResponse: list_tasks_responses,
    operations.ListTaskPushNotificationConfigsResponse: list_push_configs_responses,
    security.StringList: string_list_values,
    security.SecurityRequirement: security_requirements,
    security.APIKeySecurityScheme: api_key_schemes,
    security.HTTPAuthSecurityScheme: http_auth_schemes,
    security.AuthorizationCodeOAuthFlow: authorization_code_flows,
    security.ClientCredentialsOAuthFlow: client_credentials_flows,
    security.ImplicitOAuthFlow: implicit_flows,
    security.PasswordOAuthFlow: password_flows,
    security.DeviceCodeOAuthFlow: device_code_flows,
    security.OAuthFlows: oauth_flows,
    security.OAuth2SecurityScheme: oauth2_schemes,
    security.OpenIdConnectSecurityScheme: open_id_connect_schemes,
    security.MutualTlsSecurityScheme: mutual_tls_schemes,
    security.SecurityScheme: security_schemes,
    cards.AgentInterface: agent_interfaces,
    cards.AgentProvider: agent_providers,
    cards.AgentExtension: agent_extensions,
    cards.AgentCapabilities: agent_capabilities,
    cards.AgentSkill: agent_skills,
    cards.AgentCardSignature: agent_card_signatures,
    cards.AgentCard: agent_cards,
}
