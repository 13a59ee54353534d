//! Arguments → request → result (SPEC TK-3).

use serde_json::{Value, json};
use switchboard_toolcall::{ErrorKind, ToolOutput};

use crate::responder::{Responder, call, json as answer, response, tool, tools};

const PETS: &str = r##"
openapi: 3.0.3
info: {title: Pets, version: '1'}
paths:
  /pets/{id}/photos{ext}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer}}
    get:
      operationId: photos
      parameters:
        - {name: ext, in: path, required: true, style: label, schema: {type: string}}
        - {name: tags, in: query, schema: {type: array, items: {type: string}}}
        - {name: ids, in: query, explode: false, schema: {type: array, items: {type: integer}}}
        - {name: filter, in: query, style: deepObject, schema: {type: object}}
        - {name: where, in: query, content: {application/json: {schema: {type: object}}}}
        - {name: X-Trace, in: header, schema: {type: string}}
        - {name: Authorization, in: header, required: true, schema: {type: string}}
        - {name: session, in: cookie, schema: {type: string}}
        - {name: id, in: query, schema: {type: string}}
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object, properties: {a: {type: string}}}}}}}
  /pets:
    post:
      operationId: add
      requestBody:
        required: true
        content:
          application/json:
            schema:
              allOf: [{$ref: '#/components/schemas/Pet'}, {type: object, properties: {age: {type: integer, minimum: 0}}}]
      responses: {'201': {description: made}}
    put:
      operationId: replace
      parameters: [{name: name, in: query, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
      responses: {'204': {description: done}}
    delete: {operationId: clear, responses: {'204': {description: done}}}
    patch:
      operationId: many
      requestBody: {required: true, content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}}}}
      responses: {'200': {description: ok}}
  /form:
    post:
      operationId: form
      requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {type: string}, b: {type: array, items: {type: string}}, c: {type: object}}}, encoding: {c: {style: deepObject, explode: true}}}}}
      responses: {'200': {description: ok}}
  /upload:
    post:
      operationId: upload
      requestBody: {content: {multipart/form-data: {schema: {type: object, required: [file], properties: {file: {type: string, format: binary}, note: {type: string}, meta: {type: object}}}, encoding: {file: {contentType: image/png}}}}}
      responses: {'200': {description: ok, content: {image/png: {}}}}
  /raw:
    post:
      operationId: raw
      requestBody: {required: true, content: {application/octet-stream: {schema: {type: string, format: binary}}}}
      responses: {'200': {description: ok}}
  /text:
    post:
      operationId: text
      requestBody: {required: true, content: {text/plain: {schema: {type: string}}}}
      responses: {'200': {description: ok}}
components:
  schemas:
    Pet:
      type: object
      required: [name, id]
      properties:
        id: {type: integer, readOnly: true}
        name: {type: string, description: Its name}
        kind: {type: string, enum: [cat, dog]}
        parent: {$ref: '#/components/schemas/Pet'}
"##;

// TK-3
#[tokio::test]
async fn parameters_stand_where_the_description_says() {
    let api = Responder::answering(answer(r#"{"a":1.50}"#)).await;
    let pets = tools(PETS, &format!("{}/v1/", api.address));
    let args = json!({"id": 7, "ext": "png", "tags": ["a b", "c&d"], "ids": [1, 2], "filter": {"x": {"y": 1}},
        "where": {"q": 1}, "X-Trace": "t", "session": "s;x=y", "id_query": "/", "unknown": 1});
    let output = call(&pets, "photos", args).await.unwrap();
    let ToolOutput::Value(value) = output else { panic!() };
    assert_eq!(value.to_string(), r#"{"a":1.50}"#);
    let request = api.last();
    let line = "GET /v1/pets/7/photos.png?tags=a%20b&tags=c%26d&ids=1,2&filter%5Bx%5D%5By%5D=1&where=%7B%22q%22%3A1%7D&id=%2F HTTP/1.1\r\n";
    assert!(request.starts_with(line), "{request}");
    assert!(
        request.contains("x-trace: t\r\n") && request.contains("cookie: session=s%3Bx%3Dy\r\n"),
        "{request}"
    );
    assert!(request.contains("accept: application/json, */*;q=0.5\r\n"), "{request}");
    let spec = tool(&pets, "photos");
    let spec = spec.spec();
    // The header of credentials is the config's.
    assert!(spec.parameters["properties"].get("Authorization").is_none());
    assert_eq!(spec.parameters["required"], json!(["id", "ext"]));
    assert_eq!(
        spec.output_schema.as_ref().unwrap()["properties"]["a"],
        json!({"type": ["string", "null"]})
    );
}

// TK-3
#[tokio::test]
async fn members_of_a_body_stand_beside_the_others_unless_names_clash() {
    let api = Responder::answering(response("204 No Content", "", "")).await;
    let pets = tools(PETS, &api.address);
    let add = tool(&pets, "add");
    let schema = &add.spec().parameters;
    assert_eq!(schema["required"], json!(["name"]));
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["name", "kind", "parent", "age"]);
    assert_eq!(schema["properties"]["kind"]["enum"], json!(["cat", "dog"]));
    assert_eq!(schema["$defs"]["Pet"]["properties"]["parent"], json!({"$ref": "#/$defs/Pet"}));
    let output = call(&pets, "add", json!({"name": "Tom", "age": 3, "kind": null})).await.unwrap();
    assert_eq!(output, ToolOutput::Value("204 No Content".into()));
    assert!(
        api.last().ends_with("\r\n\r\n{\"name\":\"Tom\",\"age\":3,\"kind\":null}")
            || api.last().ends_with("{\"name\":\"Tom\",\"kind\":null,\"age\":3}"),
        "{}",
        api.last()
    );
    assert!(api.last().contains("content-type: application/json\r\n"));

    call(&pets, "replace", json!({"name": "q", "body": {"name": "Tom"}})).await.unwrap();
    assert!(
        api.last().starts_with("PUT /pets?name=q HTTP")
            && api.last().ends_with("{\"name\":\"Tom\"}"),
        "{}",
        api.last()
    );
    call(&pets, "replace", json!({})).await.unwrap();
    assert!(!api.last().contains("content-type"), "{}", api.last());
    call(&pets, "many", json!({"body": [{"name": "a"}]})).await.unwrap();
    assert!(api.last().ends_with("[{\"name\":\"a\"}]"), "{}", api.last());
}

// TK-3
#[tokio::test]
async fn forms_files_and_texts_are_sent_as_they_are_meant() {
    let api =
        Responder::answering(response("200 OK", "Content-Type: image/png\r\n", "\u{1}PNG")).await;
    let pets = tools(PETS, &api.address);
    call(&pets, "form", json!({"a": "x y&z", "b": ["1", "2"], "c": {"k": "v"}})).await.unwrap();
    assert!(api.last().ends_with("\r\n\r\na=x+y%26z&b=1&b=2&c%5Bk%5D=v"), "{}", api.last());
    let output = call(&pets, "upload", json!({"file": "UE5H", "note": "n", "meta": {"a": 1}}))
        .await
        .unwrap();
    let ToolOutput::Content(content) = output else { panic!() };
    assert_eq!(content.parts[0].kind(), "image");
    let sent = api.last();
    for part in [
        "name=\"file\"; filename=\"file\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n",
        "name=\"note\"\r\n\r\nn\r\n",
        "name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n",
    ] {
        assert!(sent.contains(part), "{sent}");
    }
    let schema = tool(&pets, "upload").spec().parameters["properties"]["file"].clone();
    assert_eq!(schema, json!({"type": "string", "contentEncoding": "base64"}));
    call(&pets, "raw", json!({"body": "UE5H"})).await.unwrap();
    assert!(
        api.last().ends_with("\r\n\r\nPNG")
            && api.last().contains("content-type: application/octet-stream")
    );
    call(&pets, "text", json!({"body": "hi"})).await.unwrap();
    assert!(api.last().ends_with("\r\n\r\nhi") && api.last().contains("content-type: text/plain"));
    let error = call(&pets, "raw", json!({"body": "?"})).await.unwrap_err();
    assert_eq!(
        (error.kind, &*error.for_model),
        (ErrorKind::InvalidParameters, "Invalid parameters: 'body' must be base64")
    );
}

// TK-3
#[tokio::test]
async fn pages_and_limits_are_told() {
    let spec = "openapi: 3.0.0\npaths: {/x: {get: {operationId: x, parameters: [{name: page, in: query, schema: {type: integer}}, {name: q, in: query, schema: {type: string}}]}}}\n";
    let link = "Content-Type: application/json\r\nLink: <http://other/x?q=a&page=3>; rel=\"next\", <http://other/x?page=9>; rel=\"last\"\r\n";
    let api = Responder::answering(response("200 OK", link, "[1]")).await;
    let output = call(&tools(spec, &api.address), "x", json!({"q": "a", "page": 2})).await.unwrap();
    assert_eq!(output.text(), "[1]\nThere is more: call again with {\"page\":3} added.");

    let used_up =
        "Content-Type: application/json\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 90\r\n";
    let api = Responder::answering(response("200 OK", used_up, r#"{"a":1}"#)).await;
    let output = call(&tools(spec, &api.address), "x", json!({})).await.unwrap();
    let ToolOutput::Content(content) = &output else { panic!() };
    assert_eq!(content.fields["structuredContent"], json!({"a": 1}));
    assert!(
        output.text().contains("The API's rate limit is used up for 90s."),
        "{}",
        output.text()
    );

    let api = Responder::answering(response("429 Too Many Requests", used_up, "slow down")).await;
    let error = call(&tools(spec, &api.address), "x", json!({})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::ToolError);
    assert!(error.for_model.contains("429") && error.hint.unwrap().contains("used up for 90s"));
    let api = Responder::answering(response("401 Unauthorized", "", "")).await;
    let error = call(&tools(spec, &api.address), "x", json!({})).await.unwrap_err();
    assert!(error.hint.unwrap().contains("`headers`"));
}

// TK-3
#[test]
fn annotations_follow_the_method() {
    let pets = tools(PETS, "http://127.0.0.1:1");
    let said = |name: &str| serde_json::to_value(tool(&pets, name).spec().annotations).unwrap();
    assert_eq!(
        said("photos"),
        json!({"read_only": true, "idempotent": true, "destructive": false, "open_world": true})
    );
    assert_eq!(said("add"), json!({"read_only": false, "open_world": true}));
    assert_eq!(
        said("replace"),
        json!({"read_only": false, "idempotent": true, "open_world": true})
    );
    assert_eq!(
        said("clear"),
        json!({"read_only": false, "idempotent": true, "destructive": true, "open_world": true})
    );
    let plain: Value = json!({"type": "object", "properties": {}});
    assert_eq!(tool(&pets, "clear").spec().parameters, plain);
}
