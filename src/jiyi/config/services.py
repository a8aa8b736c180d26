"""Services that a setting can name: where they are, and which variables hold their keys."""

from typing import Final

SERVICES: Final = {
    ("llm", "deepseek"): (
        "DEEPSEEK_API_KEY",
        {"llm_api_key": "DEEPSEEK_API_KEY", "llm_base_url": "DEEPSEEK_API_BASE"},
        {"llm_base_url": "https://api.deepseek.com/v1", "llm_model": "deepseek-chat"},
    ),
    ("embedder", "qwen"): (
        "QWEN_API_KEY",
        {"embedding_api_key": "QWEN_API_KEY", "embedding_base_url": "QWEN_API_BASE"},
        {
            "embedding_base_url": "https://dashscope.aliyuncs.com/compatible-mode/v1",
            "embedding_model": "text-embedding-v4",
        },
    ),
}
"""By the setting that names a service: its variable, what is read from the environment, and the defaults. An API key is
only sent to the server it belongs to."""
